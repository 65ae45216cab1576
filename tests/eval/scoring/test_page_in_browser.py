"""The pages of ``bench`` and ``compare`` in a real browser: every column is seen, the last one too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.domain import Hit
from factseek.retrieval.records.runs import run_lines
from factseek.settings import Config

pytestmark = pytest.mark.real

_CUT = """
return [...document.querySelectorAll(".wide")].map(box => {
    const last = [...box.querySelectorAll("tr > :last-child")].map(cell => cell.getBoundingClientRect().right);
    return [box.scrollWidth - box.clientWidth, Math.max(...last) - document.documentElement.clientWidth];
});
"""
"""Of each table: the pixels that its box hides, and those by which its last column leaves the window."""

Command = Callable[..., tuple[int, str, str]]


def assert_whole(chromium: webdriver.Chrome, page: Path, tables: int) -> None:
    metrics = {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    chromium.get(page.as_uri())
    cut = chromium.execute_script(_CUT)
    assert len(cut) == tables
    assert all(hidden <= 0 and outside <= 0 for hidden, outside in cut), cut


def test_no_column_of_a_benchmark_is_cut(
    chromium: webdriver.Chrome, root: Path, command: Command, tmp_path: Path
) -> None:
    index, examples = tmp_path / "a-collection-with-a-long-name", root / "examples"
    build(BuildRequest(kind="snippets", sources=(examples / "snippets-en.tsv",), folder=index), Config())
    files = ["--index", index, "--queries", examples / "queries-en.tsv", "--qrels", examples / "qrels-en.txt"]
    code, _, notes = command("bench", *files, "--timed", 3, "--output", tmp_path / "report")
    assert code == 0, notes
    assert_whole(chromium, tmp_path / "report" / "bench.html", 3)


@pytest.mark.parametrize("long", ["run-of-the-second-team-with-a-better-encoder-and-reranking", "team" * 15])
def test_no_column_of_a_comparison_is_cut(
    chromium: webdriver.Chrome, command: Command, tmp_path: Path, long: str
) -> None:
    random, qids = np.random.default_rng(0), [f"CT20-AR-{number:02}" for number in range(30)]
    docids = [f"{qid}-{'0' * 30}-{number}" for qid in qids for number in range(5)]
    qrels, runs = tmp_path / "qrels.txt", [tmp_path / f"{name}.run" for name in ("base", long, f"{long}-2")]
    qrels.write_text("".join(f"{docid[:10]} 0 {docid} {number % 2}\n" for number, docid in enumerate(docids)))
    for run in runs:
        lines = []
        for qid in qids:
            scores = {docid: float(random.random()) for docid in docids if docid.startswith(qid)}
            ranked = sorted(scores, key=scores.__getitem__, reverse=True)
            lines.append(run_lines(qid, [Hit(docid, scores[docid]) for docid in ranked], "x"))
        run.write_text("".join(lines))
    page = tmp_path / "compare.html"
    code, _, notes = command(
        "compare", "--qrels", qrels, *runs, "--measures", "AP,nDCG@10,P@10,RR@5,R@5", "--html", page
    )
    assert code == 0, notes
    assert_whole(chromium, page, 3)
