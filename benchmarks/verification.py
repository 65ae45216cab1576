"""Measure verdicts: ``python -m benchmarks.verification``.

``FACTSEEK_DATA`` must name the folder with SciFact and COVID-Fact in FEVER's format: a page is a document, and a line
is a sentence. Verdicts are cross-validated with given and with retrieved evidence, and compared with baselines. A model
trained on SciFact also judges the pairs of ``examples/verdict-pairs.tsv``. The program prints the tables and writes
them into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import RememberingEncoder, data_folder, objects
from benchmarks.measuring import part, program, replace_marked
from factseek.claims.evidence.extractors import FeatureExtractors, open_contrast
from factseek.claims.evidence.sentences import ClaimEvidence, Finder
from factseek.claims.learning.figures import VerdictFigures, figures, needed_confidence, risk_curve
from factseek.claims.settings import VerdictSettings
from factseek.claims.text.quantities import quantities, unstated
from factseek.claims.verdicts import models
from factseek.claims.verdicts.models import Cases
from factseek.claims.verdicts.training import out_of_fold, split
from factseek.claims.verdicts.verdict import AT_ONCE, cases_of
from factseek.eval.scoring.tables import markdown_table
from factseek.eval.tasks import VERDICTS
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.dense.encoder import Encoder
from factseek.retrieval.domain import Claim
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.files import write_atomically
from factseek.retrieval.records.claim_review import groups
from factseek.retrieval.search.index import open_index
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
CONFIG = Config()
SEEDS = 5
"""The number of cross-validations, each with other folds; a table shows their mean and the largest distance from it."""
THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.7)
Place = tuple[str, int]
NEI = "NOT ENOUGH INFO"
_SCIFACT = {"SUPPORT": "SUPPORTS", "CONTRADICT": "REFUTES"}
_COVID = {"SUPPORTED": "SUPPORTS", "REFUTED": "REFUTES"}


class LabelledCollection(NamedTuple):
    """Claims with labels, the pages that hold their evidence, and the choice of the sentences given for a claim.

    ``choose`` takes a claim and the places that the search found for it, and returns the places given.
    """

    name: str
    labels: tuple[str, ...]
    pages: Path
    claims: list[Claim]
    choose: Callable[[Claim, Sequence[Place]], list[Place]]


def _scifact(folder: Path, work: Path) -> LabelledCollection:
    """Convert SciFact's training claims to FEVER's form, in files below ``work``, and read them."""
    pages = {str(row["doc_id"]): row["abstract"] for row in objects(folder / "abstracts.jsonl")}
    rows, cited = [], []
    for row in objects(folder / "claims_train.jsonl"):
        evidence = [(docid, group) for docid, groups in row["evidence"].items() for group in groups]
        label = _SCIFACT[evidence[0][1]["label"]] if evidence else NEI
        groups_of = [[(docid, line) for line in group["sentences"]] for docid, group in evidence]
        rows.append((row["claim"], label, groups_of))
        cited.append({str(docid) for docid in row["cited_doc_ids"]})

    def choose(claim: Claim, places: Sequence[Place]) -> list[Place]:
        # A claim without evidence gets the sentences that the search found in its cited abstracts.
        if claim.groups:
            return list(claim.groups[0])[:5]
        return [place for place in places if place[0] in cited[int(claim.qid)]] or list(places[:1])

    written = _written(work / "scifact", pages, rows)
    return LabelledCollection("SciFact", ("SUPPORTS", "REFUTES", NEI), *written, choose)


def _covid_fact(folder: Path, work: Path) -> LabelledCollection:
    """Convert COVID-Fact to FEVER's form, in files below ``work``, and read it."""
    pages: dict[tuple[str, ...], str] = {}
    rows = []
    for row in objects(folder / "COVIDFACT_dataset.jsonl"):
        docid = pages.setdefault(tuple(row["evidence"]), f"evidence-{len(pages):04d}")
        rows.append((row["claim"], _COVID[row["label"]], [[(docid, line) for line in range(len(row["evidence"]))]]))
    texts = {docid: list(sentences) for sentences, docid in pages.items()}
    written = _written(work / "covid-fact", texts, rows)
    return LabelledCollection(
        "COVID-Fact", ("SUPPORTS", "REFUTES"), *written, lambda claim, _: list(claim.groups[0])[:5]
    )


def _written(
    folder: Path, pages: Mapping[str, list[str]], rows: Iterable[tuple[str, str, list[list[Place]]]]
) -> tuple[Path, list[Claim]]:
    """Write pages and numbered claims in FEVER's form, and read them as any such file is read."""
    folder.mkdir(parents=True, exist_ok=True)
    claims = []
    for number, (text, label, of_claim) in enumerate(rows):
        named = [[[0, 0, *place] for place in group] for group in of_claim] or [[[0, None, None, None]]]
        claims.append({"id": number, "claim": text, "label": label, "evidence": named})
    _lines(folder / "wiki-001.jsonl", (_page(*page) for page in pages.items()))
    _lines(folder / "claims.jsonl", claims)
    return folder / "wiki-001.jsonl", VERDICTS.load("fever").read_claims(folder / "claims.jsonl", labelled=True)


def _lines(path: Path, objects: Iterable[object]) -> None:
    write_atomically(path, "".join(f"{json.dumps(one)}\n" for one in objects).encode())


def _page(docid: str, sentences: Sequence[str]) -> dict[str, str]:
    texts = [" ".join(sentence.split()) for sentence in sentences]
    lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(texts))
    return {"id": docid, "text": " ".join(texts), "lines": lines}


class JudgedCollection(NamedTuple):
    """A collection ready for evaluation: claims with their classes, and their retrieved and annotated evidence."""

    name: str
    labels: tuple[str, ...]
    classes: NDArray[np.int64]
    groups: list[int]
    retrieved: Cases
    annotated: Cases
    settings: VerdictSettings


def section(collection: JudgedCollection) -> str:
    """Return all figures of a collection, as Markdown."""
    rows = [
        ("majority", "none", _runs("majority", collection)),
        ("hypothesis only", "none", _runs("hypothesis", collection)),
        ("evidence", "retrieved", _runs("evidence", collection)),
        ("evidence", "given", _runs("evidence", collection, annotated=True)),
    ]
    counts = ", ".join(f"{int((collection.classes == n).sum()):,} {label}" for n, label in enumerate(collection.labels))
    each = [f"F1 {label}" for label in collection.labels]
    header = ("model", "evidence", "macro-F1", "accuracy", *each, "calibration error")
    cells = [_row(*row, collection.labels) for row in rows]
    head = f"\n### {collection.name}\n\n{len(collection.classes):,} claims: {counts}.\n"
    return "\n".join([head, markdown_table(header, cells, left=2), _risk_curve(collection)])


def probabilities(
    name: str, collection: JudgedCollection, seed: int, *, annotated: bool = False
) -> NDArray[np.float64]:
    """Return a model's out-of-fold probabilities in the cross-validation ``seed``; shape (claims, labels)."""
    settings = msgspec.structs.replace(collection.settings, seed=seed)
    parted = split(collection.labels, collection.classes, collection.groups, settings)
    cases = collection.annotated if annotated else collection.retrieved
    return out_of_fold(name, parted, collection.settings, cases)


def _runs(name: str, collection: JudgedCollection, *, annotated: bool = False) -> list[VerdictFigures]:
    return [
        figures(collection.classes, probabilities(name, collection, seed, annotated=annotated), collection.labels)
        for seed in range(SEEDS)
    ]


def _row(model: str, evidence: str, runs: Sequence[VerdictFigures], labels: Sequence[str]) -> list[str]:
    macro = [run.macro_f1 for run in runs]
    away = max(abs(value - float(np.mean(macro))) for value in macro)
    columns = [[run.labels[label].f1 for run in runs] for label in labels]
    columns = [[run.accuracy for run in runs], *columns, [run.calibration_error for run in runs]]
    return [model, evidence, f"{np.mean(macro):.3f} ± {away:.3f}", *(f"{np.mean(values):.3f}" for values in columns)]


def _risk_curve(collection: JudgedCollection) -> str:
    """Return the curve of risk and coverage as a table, and the probability that verdicts for people need."""
    curve = risk_curve(collection.classes, probabilities("evidence", collection, 0))
    rows = [
        [f"{point.share:.1%}", f"{point.confidence:.2f}", f"{point.wrong:.3f}"] for point in curve[:5] + curve[9::5]
    ]
    most = collection.settings.max_risk
    needed = needed_confidence(curve, most)
    decided = max((point.share for point in curve if point.confidence >= needed), default=0.0)
    return (
        "Risk and coverage, from the most to the least probable verdicts:\n\n"
        f"{markdown_table(('verdicts given, of all claims', 'probability at least', 'wrong of these'), rows)}\n"
        f"If at most {most:.0%} of the verdicts may be wrong (`max_risk`), a verdict needs a probability of at least "
        f"{needed:.2f}. Then {decided:.1%} of the claims get a verdict.\n"
    )


class VerdictPair(NamedTuple):
    """A claim, a sentence about it, the sentence's stance, and what makes the pair difficult."""

    id: str
    claim: str
    evidence: str
    label: str
    kind: str


def read_pairs(path: Path) -> list[VerdictPair]:
    """Read a file of pairs; its header names the columns."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [VerdictPair(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def pairs_section(
    pairs: Sequence[VerdictPair], collection: JudgedCollection, work: Path, encoder: Encoder, readers: FeatureExtractors
) -> str:
    """Return the verdicts on pairs of a model trained on a collection's retrieved evidence, by threshold.

    As in ``verdict``, a sentence that lacks a number of the claim does not support it.
    """
    model = models.kind("evidence").fit(
        collection.retrieved, collection.classes, collection.labels, collection.settings
    )
    probability = model.probabilities(_cases(pairs, work, encoder, readers))
    lacking = np.array([bool(unstated(quantities(pair.claim), quantities(pair.evidence))) for pair in pairs])
    probability[lacking & (probability.argmax(axis=1) == 0)] = np.eye(len(collection.labels))[-1]
    labels = np.array([collection.labels.index(pair.label) for pair in pairs])
    verdicts, rows = probability.argmax(axis=1), []
    for least in THRESHOLDS:
        decided = (verdicts < 2) & (probability.max(axis=1) >= least)
        right = f"{(verdicts == labels)[decided].mean():.0%}" if decided.any() else ""
        rows.append([f"{least:.2f}", f"{decided.sum()}", right, f"{decided[labels < 2].mean():.0%}"])
    header = ("`min_confidence`", "verdicts", "right of these", "decisive pairs decided")
    lead = f"{len(pairs)} pairs, judged by a model that learned from {collection.name}'s claims:"
    return f"\n{lead}\n\n{markdown_table(header, rows)}"


def _cases(pairs: Sequence[VerdictPair], work: Path, encoder: Encoder, readers: FeatureExtractors) -> Cases:
    """Return the pairs as cases, each with its own sentence, from an index of all sentences."""
    _lines(work / "wiki-001.jsonl", (_page(pair.id, [pair.evidence]) for pair in pairs))
    build(BuildRequest(kind="fever", sources=(work / "wiki-001.jsonl",), folder=work / "pairs-index"), CONFIG)
    claims = [Claim(pair.id, pair.claim) for pair in pairs]
    texts = [pair.claim for pair in pairs]
    with open_index(work / "pairs-index", CONFIG, encoders=lambda made_by, place: encoder) as index:
        finder = Finder(index, CONFIG.verdict)
        places = [[(pair.id, 0)] for pair in pairs]
        return cases_of(claims, finder.with_annotated(texts, places, finder.find(texts)), finder, readers)


@program
def main() -> None:
    """Measure, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of figures.md")
    args = parser.parse_args()
    # Build the indexes again: kept ones might come from an older version.
    with part("all of verification"), tempfile.TemporaryDirectory() as work:
        text = _measured(data_folder(), Path(work))
    sys.stdout.write(text)
    replace_marked(args.docs / "figures.md", "verification", text)


def _measured(folder: Path, work: Path) -> str:
    encoder = RememberingEncoder(open_encoder(CONFIG.encoder))
    readers = FeatureExtractors(open_contrast(CONFIG, "en"))
    measured, sections = [], []
    for collection in (_scifact(folder / "scifact", work), _covid_fact(folder / "covid-fact", work)):
        measured.append(_judged(collection, work, encoder, readers))
        with part(f"{collection.name}: judging"):
            sections.append(section(measured[-1]))
    with part("pairs"):
        pairs = read_pairs(ROOT / "examples" / "verdict-pairs.tsv")
        sections.append("\n### Pairs\n" + pairs_section(pairs, measured[0], work, encoder, readers))
    encoder.close()
    return "".join(sections)


def _judged(
    collection: LabelledCollection, work: Path, encoder: Encoder, readers: FeatureExtractors
) -> JudgedCollection:
    folder = work / f"{collection.name.lower()}-index"
    with part(f"{collection.name}: indexing"):
        build(BuildRequest(kind="fever", sources=(collection.pages,), folder=folder), CONFIG)
    texts = [claim.text for claim in collection.claims]
    with (
        part(f"{collection.name}: finding evidence"),
        open_index(folder, CONFIG, encoders=lambda made_by, place: encoder) as index,
    ):
        finder = Finder(index, CONFIG.verdict)
        retrieved: list[ClaimEvidence] = []
        for start in range(0, len(texts), AT_ONCE):
            retrieved += finder.find(texts[start : start + AT_ONCE])
        chosen = [
            collection.choose(claim, [(sentence.docid, sentence.number) for sentence in evidence.sentences])
            for claim, evidence in zip(collection.claims, retrieved, strict=True)
        ]
        annotated = finder.with_annotated(texts, chosen, retrieved)
        return JudgedCollection(
            collection.name,
            collection.labels,
            np.array([collection.labels.index(claim.label) for claim in collection.claims]),
            groups(collection.claims),
            cases_of(collection.claims, retrieved, finder, readers),
            cases_of(collection.claims, annotated, finder, readers),
            CONFIG.verdict,
        )


if __name__ == "__main__":
    sys.exit(main())
