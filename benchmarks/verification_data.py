"""The public collections that verdicts are measured on, put into FEVER's form.

``python -m benchmarks.verification_data DIR`` writes them for ``factseek index fever`` and ``train entailment``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.collection import objects
from benchmarks.data_folder import data_folder
from factseek.eval.tasks import VERDICTS
from factseek.retrieval.domain import Claim
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.files import write_atomically
from factseek.retrieval.terminal import say

Place = tuple[str, int]
NEI = "NOT ENOUGH INFO"
_SCIFACT = {"SUPPORT": "SUPPORTS", "CONTRADICT": "REFUTES"}
_COVID = {"SUPPORTED": "SUPPORTS", "REFUTED": "REFUTES"}
_DEBATES = ("1st-Presidential", "2nd-Presidential", "Vice-Presidential")


class LabelledCollection(NamedTuple):
    """Claims with labels, the pages that hold their evidence, and the choice of the sentences given for a claim.

    ``choose`` takes a claim and the places that the search found for it, and returns the places given.
    """

    name: str
    labels: tuple[str, ...]
    pages: Path
    claims: list[Claim]
    choose: Callable[[Claim, Sequence[Place]], list[Place]]


def collections(folder: Path, work: Path) -> list[LabelledCollection]:
    """Put SciFact's training claims and COVID-Fact into FEVER's form, in files below ``work``, and read these."""
    return [_scifact(folder / "scifact", work), _covid_fact(folder / "covid-fact", work)]


def arabic_claims(folder: Path) -> tuple[list[Claim], list[int]]:
    """Return the Arabic claims of CheckThat! 2018 that are TRUE or FALSE, each once, and the debate of each."""
    claims: dict[str, Claim] = {}
    debates: dict[str, int] = {}
    for number, debate in enumerate(_DEBATES):
        path = folder / "ct2018-task2-factuality" / "Arabic" / f"Task2-Arabic-{debate}.txt"
        for line in path.read_text("utf-8-sig").splitlines():
            fields = line.split("\t")
            if len(fields) == 6 and fields[5].strip() in ("TRUE", "FALSE"):
                qid = f"{debate}/{fields[3].strip()}"
                claims.setdefault(qid, Claim(qid, fields[4].strip(), topic=debate, label=fields[5].strip()))
                debates.setdefault(qid, number)
    return list(claims.values()), [debates[qid] for qid in claims]


def _scifact(folder: Path, work: Path) -> LabelledCollection:
    pages = [(str(row["doc_id"]), row["abstract"]) for row in objects(folder / "abstracts.jsonl")]
    rows, cited = [], {}
    for row in objects(folder / "claims_train.jsonl"):
        evidence = [(docid, group) for docid, groups in row["evidence"].items() for group in groups]
        label = _SCIFACT[evidence[0][1]["label"]] if evidence else NEI
        groups = [[(docid, line) for line in group["sentences"]] for docid, group in evidence]
        rows.append((str(row["id"]), row["claim"], label, groups))
        cited[str(row["id"])] = {str(docid) for docid in row["cited_doc_ids"]}

    def choose(claim: Claim, places: Sequence[Place]) -> list[Place]:
        # A claim without evidence is given what the search found in the abstracts that it cites.
        if claim.groups:
            return list(claim.groups[0])[:5]
        return [place for place in places if place[0] in cited[claim.qid]] or list(places[:1])

    claims = _written(work, "scifact", pages, rows)
    return LabelledCollection(
        "SciFact", ("SUPPORTS", "REFUTES", NEI), work / "scifact" / "wiki-001.jsonl", claims, choose
    )


def _covid_fact(folder: Path, work: Path) -> LabelledCollection:
    pages: dict[tuple[str, ...], str] = {}
    rows = []
    for number, row in enumerate(objects(folder / "COVIDFACT_dataset.jsonl")):
        sentences = tuple(row["evidence"])
        docid = pages.setdefault(sentences, f"evidence-{len(pages):04d}")
        group = [(docid, line) for line in range(len(sentences))]
        rows.append((str(number), row["claim"], _COVID[row["label"]], [group]))
    claims = _written(work, "covid-fact", [(docid, list(texts)) for texts, docid in pages.items()], rows)
    return LabelledCollection(
        "COVID-Fact",
        ("SUPPORTS", "REFUTES"),
        work / "covid-fact" / "wiki-001.jsonl",
        claims,
        lambda claim, places: list(claim.groups[0])[:5],
    )


def _written(
    work: Path,
    name: str,
    pages: Iterable[tuple[str, list[str]]],
    rows: Iterable[tuple[str, str, str, list[list[Place]]]],
) -> list[Claim]:
    """Write pages and claims as FEVER has them, and read the claims as any such file is read."""
    folder = work / name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "wiki-001.jsonl", "".join(_page(docid, texts) for docid, texts in pages).encode())
    lines = "".join(_claim(*row) for row in rows)
    write_atomically(folder / "claims.jsonl", lines.encode())
    return VERDICTS.load("fever").read_claims(folder / "claims.jsonl", labelled=True)


def _page(docid: str, sentences: Sequence[str]) -> str:
    texts = [" ".join(sentence.split()) for sentence in sentences]
    lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(texts))
    return json.dumps({"id": docid, "text": " ".join(texts), "lines": lines}) + "\n"


def _claim(qid: str, text: str, label: str, groups: Sequence[Sequence[Place]]) -> str:
    named = [[[0, 0, docid, line] for docid, line in group] for group in groups] or [[[0, None, None, None]]]
    return json.dumps({"id": int(qid), "claim": text, "label": label, "evidence": named}) + "\n"


def main() -> int:
    """Write the pages and the claims of each collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder that gets a folder for each collection")
    args = parser.parse_args()
    try:
        for collection in collections(data_folder(), args.folder):
            say(f"{collection.pages.parent}: {len(collection.claims):,} claims of {collection.name}")
    except FactseekError as error:
        say(f"benchmarks.verification_data: {error.line}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
