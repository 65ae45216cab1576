"""Measure trained models: ``python -m benchmarks.training``, or ``make bench-train``.

``FACTSEEK_DATA`` must name the folder of the public collections. The program runs the commands
``factseek train all`` and ``factseek train reranker`` on SciFact's training claims. It writes their
figures, on claims that the models did not learn from, into ``docs/figures.md``. It takes hours on
two cores. An interrupted training continues from its last checkpoint. Existing models and indexes
are not built again.
"""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import redirect_stdout

from benchmarks.data import data_folder
from benchmarks.measuring import ROOT, part, program, publish
from factseek.commands import main as factseek

BASE = "all-MiniLM-L6-v2"
WORK = ROOT / "bench" / "training"
"""The folder that keeps the models and indexes."""
RERANKER = (
    f"--base {BASE} --negatives 2 --batch 8 --looks 1 --max-tokens 128 --rate 1e-4 --epochs 1 "
    "--depth 10"
).split()


@program(("--only", {"choices": ["encoder", "reranker"], "help": "train only this model"}))
def main(args: argparse.Namespace) -> None:
    """Train and index what is missing, print the tables, and write the document."""
    data = data_folder() / "scifact"
    index, reranker = WORK / "before", WORK / "reranker"
    WORK.mkdir(parents=True, exist_ok=True)
    if not index.exists():
        with part(f"indexing with {BASE}"):
            _run("index", "beir", data / "corpus.jsonl", "--index", index, "--encoder", BASE)
    files = (
        "--index",
        index,
        "--queries",
        data / "queries.jsonl",
        "--qrels",
        data / "qrels" / "train.tsv",
    )
    if args.only != "reranker":
        table = _run("train", "all", *files, "--output", WORK / "all")
        publish("encoder", f"```text\n{table}```")
    if args.only != "encoder":
        if not reranker.exists():
            with part("training the re-ranker"):
                _run("train", "reranker", *files, *RERANKER, "--output", reranker)
        publish(
            "reranker",
            "```text{}```".format((reranker / "README.md").read_text("utf-8").split("```")[1]),
        )


def _run(*arguments: object) -> str:
    with redirect_stdout(io.StringIO()) as output:
        code = factseek([str(argument) for argument in arguments])
    if code:
        raise SystemExit(code)
    return output.getvalue()


if __name__ == "__main__":
    sys.exit(main())
