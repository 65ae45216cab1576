"""Measure verdicts: ``python -m benchmarks.verification``.

Where ``FACTSEEK_DATA`` names the folder that holds them: SciFact and COVID-Fact in FEVER's form (page = document, line
= sentence), cross-validated, with evidence given and with evidence retrieved, beside the baselines; and the Arabic
claims of CheckThat! 2018, one debate held out at a time. Prints the tables and writes them into
``docs/verification.md``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from benchmarks import verdict_pairs
from benchmarks import verification_data as data
from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from benchmarks.remembering import RememberingEncoder
from benchmarks.verification_plot import plot, risk_plot
from benchmarks.verification_tables import JudgedCollection, held_out, probabilities, results, section
from factseek.claims.evidence.features import covered, numbers_missing
from factseek.claims.evidence.sentences import ClaimEvidence, Finder
from factseek.claims.learning.figures import bins
from factseek.claims.verdicts import contrast
from factseek.claims.verdicts.confidence import risk_curve
from factseek.claims.verdicts.crossval import Split
from factseek.claims.verdicts.entailment import OpenedEntailment, opened
from factseek.claims.verdicts.readers import Readers
from factseek.claims.verdicts.verdict import AT_ONCE, cases_of
from factseek.eval.formats.scores import ScoreOptions
from factseek.eval.reports.page import markdown_table
from factseek.eval.tasks import fever
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.claim_groups import groups
from factseek.retrieval.encoder import Encoder
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.files import write_atomically
from factseek.retrieval.index.local import open_index
from factseek.retrieval.progress import bar
from factseek.retrieval.terminal import say
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
CONFIG = Config()
_RISK_PLOT = "verification-risk.png"
_PASSAGES = Path("ct2019-task2-arabic") / "passages" / "CT19-T2-Passages_Text.json"


def main() -> int:
    """Measure, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where verification.md and its plots are")
    parser.add_argument(
        "--entailment",
        default="",
        metavar="MODEL",
        help="judge with what this model of entailment says, too, and write no document; claims that it learned from "
        "are left out, and so are the pairs and the Arabic claims",
    )
    args = parser.parse_args()
    try:
        # Indexes are built anew: kept ones would be measured with what once made them.
        with part("all of verification"), tempfile.TemporaryDirectory() as work:
            if args.entailment:
                settings = msgspec.structs.replace(CONFIG.verdict.entailment, model=args.entailment)
                sys.stdout.write(_with_entailment(data_folder(), Path(work), opened(settings)))
                return 0
            measured, text = _measured(data_folder(), Path(work))
    except FactseekError as error:
        say(f"benchmarks.verification: {error.line}")
        return 2
    text += f"\n![How many of the verdicts given are wrong, by how many are given]({_RISK_PLOT})\n"
    sys.stdout.write(text)
    each = [(judged.name, judged.classes, probabilities("evidence", judged, 0)) for judged in measured]
    picture = plot([(name, bins(classes, probability)) for name, classes, probability in each])
    write_atomically(args.docs / "verification.png", picture)
    curves = [(name, risk_curve(classes, probability)) for name, classes, probability in each]
    write_atomically(args.docs / _RISK_PLOT, risk_plot(curves, CONFIG.verdict.most_wrong))
    replace_marked(args.docs / "verification.md", "measured", text)
    return 0


def _measured(folder: Path, work: Path) -> tuple[list[JudgedCollection], str]:
    encoder = RememberingEncoder(open_encoder(CONFIG.encoder))
    readers = _readers()
    measured, sections = [], []
    for collection in data.collections(folder, work):
        measured.append(_judged(collection, work, encoder, readers))
        with part(f"{collection.name}: judging"):
            sections.append(section(measured[-1]) + _official(measured[-1], work))
    with part("pairs"):
        pairs = verdict_pairs.read_pairs(ROOT / "examples" / "verdict-pairs.tsv")
        sections.append("\n### Pairs\n" + verdict_pairs.section(pairs, measured[0], work, encoder, readers))
    encoder.close()
    with part("CheckThat! 2018"):
        sections.append(_arabic(folder, work))
    return measured, "".join(sections)


def _with_entailment(folder: Path, work: Path, entailment: OpenedEntailment | None) -> str:
    """Return the tables of each collection, judged with the model's features; it must not have learned from them."""
    encoder = RememberingEncoder(open_encoder(CONFIG.encoder))
    sections = []
    for collection in data.collections(folder, work):
        sections.append(section(_judged(collection, work, encoder, _readers(entailment))))
    encoder.close()
    return "".join(sections)


def _judged(collection: data.LabelledCollection, work: Path, encoder: Encoder, readers: Readers) -> JudgedCollection:
    folder = work / f"{collection.name.lower()}-index"
    with part(f"{collection.name}: indexing"):
        build(BuildRequest(kind="fever", sources=(collection.pages,), folder=folder), CONFIG)
    texts = [claim.text for claim in collection.claims]
    with (
        part(f"{collection.name}: finding evidence"),
        open_index(folder, CONFIG, encoders=lambda made_by, place: encoder) as index,
    ):
        finder = Finder(index, CONFIG.verdict)
        retrieved = _evidence_of(collection.name, texts, finder)
        chosen = [
            collection.choose(claim, [(sentence.docid, sentence.number) for sentence in evidence.sentences])
            for claim, evidence in zip(collection.claims, retrieved, strict=True)
        ]
        annotated = finder.with_annotated(texts, chosen, retrieved)
        return JudgedCollection(
            collection.name,
            collection.labels,
            collection.claims,
            np.array([collection.labels.index(claim.label) for claim in collection.claims]),
            groups(collection.claims),
            retrieved,
            cases_of(collection.claims, retrieved, finder, readers),
            cases_of(collection.claims, annotated, finder, readers),
            np.array(
                [
                    covered(text, claim_evidence, index.terms)
                    for text, claim_evidence in zip(texts, retrieved, strict=True)
                ]
            ),
            np.array([bool(numbers_missing(*pair)) for pair in zip(texts, retrieved, strict=True)]),
            CONFIG.verdict,
        )


def _readers(entailment: OpenedEntailment | None = None, language: str = "en") -> Readers:
    beside = contrast.opened(CONFIG, language)
    return Readers(beside.reader if beside else None, entailment.reader if entailment else None)


def _evidence_of(name: str, texts: Sequence[str], finder: Finder) -> list[ClaimEvidence]:
    running = bar(f"{name}: finding evidence", "claims", len(texts))
    retrieved: list[ClaimEvidence] = []
    for start in range(0, len(texts), AT_ONCE):
        retrieved += finder.find(texts[start : start + AT_ONCE])
        running.update(len(texts[start : start + AT_ONCE]))
    running.close()
    return retrieved


def _official(collection: JudgedCollection, work: Path) -> str:
    """Return the table of FEVER's scores for out-of-fold verdicts, written as a submission and scored by ``fever``."""
    predicted = probabilities("evidence", collection, 0).argmax(axis=1)
    records = [
        (claim, collection.labels[number], [(sentence.docid, sentence.number) for sentence in evidence.sentences])
        for claim, number, evidence in zip(collection.claims, predicted.tolist(), collection.evidence, strict=True)
    ]
    folder = work / collection.name.lower()
    fever.write_verdicts(records, folder / "verdicts.jsonl", "")
    scores = fever.score([folder / "claims.jsonl"], [folder / "verdicts.jsonl"], ScoreOptions())
    table = markdown_table(list(scores.values), [[f"{value:.3f}" for value in scores.values.values()]], left=0)
    return f"\nHanded in as FEVER's files are, and scored by `factseek score fever`:\n\n{table}"


def _arabic(folder: Path, work: Path) -> str:
    """Return the section on the Arabic claims of 2018: debates held out one by one, evidence of another collection."""
    say("CheckThat! 2018: judging")
    claims, debates = data.arabic_claims(folder)
    held = work / "arabic"
    build(BuildRequest(kind="snippets", sources=(folder / _PASSAGES,), folder=held, language="ar", dense=False), CONFIG)
    labels = ("TRUE", "FALSE")
    classes = np.array([labels.index(claim.label) for claim in claims])
    parts = [np.flatnonzero(np.array(debates) == debate) for debate in sorted(set(debates))]
    parted = Split(labels, classes, parts)
    with open_index(held, CONFIG) as index:
        finder = Finder(index, CONFIG.verdict)
        retrieved = finder.find([claim.text for claim in claims])
        cases = cases_of(claims, retrieved, finder, _readers(language="ar"))
        shares = [
            covered(claim.text, claim_evidence, index.terms)
            for claim, claim_evidence in zip(claims, retrieved, strict=True)
        ]
    thin = sum(share < CONFIG.verdict.min_coverage for share in shares)
    models = (
        ("majority", "none", "majority"),
        ("hypothesis only", "none", "hypothesis"),
        ("evidence", "of other claims", "evidence"),
    )
    rows = [
        (title, evidence, [held_out(name, parted, cases, labels, CONFIG.verdict)]) for title, evidence, name in models
    ]
    counts = ", ".join(f"{int((classes == n).sum())} {label}" for n, label in enumerate(labels))
    return (
        f"\n### CheckThat! 2018, Arabic\n\n{len(claims)} claims of three debates: {counts}; half-true ones are left "
        f"out. Each debate is judged by what the other two teach. For {thin} claims the evidence is too thin to "
        "decide.\n\n" + results(rows, labels)
    )


if __name__ == "__main__":
    sys.exit(main())
