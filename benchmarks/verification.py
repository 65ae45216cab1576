"""Measure verdicts: ``python -m benchmarks.verification``.

``FACTSEEK_DATA`` must name the folder with SciFact and COVID-Fact. The program converts them to
FEVER's format: a page is a document, and a line is a sentence. Verdicts are cross-validated with
given and with retrieved evidence, and compared with baselines. A model trained on SciFact also
judges the pairs of ``examples/verdict-pairs.tsv``. The program prints the tables and writes them
into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import RememberingEncoder, data_folder, objects, write_objects
from benchmarks.measuring import ROOT, part, program, publish
from factseek import Config
from factseek.claims.evidence.features import FeatureExtractors, open_contrast
from factseek.claims.evidence.sentences import Finder
from factseek.claims.learning.figures import figures, needed_confidence, risk_curve
from factseek.claims.text.quantities import find_unstated, quantities
from factseek.claims.verdicts import models
from factseek.claims.verdicts.models import Cases
from factseek.claims.verdicts.training import out_of_fold, split
from factseek.claims.verdicts.verdict import cases_of
from factseek.core.domain import Claim
from factseek.core.records.claim_review import groups
from factseek.eval.scoring.tables import markdown_table
from factseek.eval.tasks import VERDICTS
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders.opening import open_encoder
from factseek.retrieval.search.index import Index, open_index

CONFIG = Config()
SEEDS = 5
"""The number of cross-validations, each with other folds; a table shows their mean and the largest
distance from it.
"""
THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.7)
Place = tuple[str, int]
NEI = "NOT ENOUGH INFO"
LABELS = {
    "SUPPORT": "SUPPORTS",
    "CONTRADICT": "REFUTES",
    "SUPPORTED": "SUPPORTS",
    "REFUTED": "REFUTES",
}


class Collection(NamedTuple):
    """Claims with their classes, and their retrieved and annotated evidence."""

    name: str
    labels: tuple[str, ...]
    claims: list[Claim]
    classes: NDArray[np.int64]
    retrieved: Cases
    annotated: Cases

    def probabilities(
        self, model: str, seed: int, *, annotated: bool = False
    ) -> NDArray[np.float64]:
        """Return a model's out-of-fold probabilities in the cross-validation ``seed``; shape
        (claims, labels).
        """
        settings = msgspec.structs.replace(CONFIG.verdict, seed=seed)
        parted = split(self.labels, self.classes, groups(self.claims), settings)
        return out_of_fold(
            model, parted, CONFIG.verdict, self.annotated if annotated else self.retrieved
        )


class Judge:
    """Reads collections and their evidence with one encoder and its contrast; files and indexes are
    in ``work``.
    """

    def __init__(self, work: Path) -> None:
        self._work = work
        self._encoder = RememberingEncoder(open_encoder(CONFIG.encoder))
        self._readers = FeatureExtractors(open_contrast(CONFIG, "en"))

    def scifact(self, folder: Path) -> Collection:
        """Read SciFact's training claims."""
        pages = {str(row["doc_id"]): row["abstract"] for row in objects(folder / "abstracts.jsonl")}
        rows, cited = [], []
        for row in objects(folder / "claims_train.jsonl"):
            evidence = [
                (docid, group) for docid, groups in row["evidence"].items() for group in groups
            ]
            label = LABELS[evidence[0][1]["label"]] if evidence else NEI
            rows.append(
                (
                    row["claim"],
                    label,
                    [[(docid, at) for at in group["sentences"]] for docid, group in evidence],
                )
            )
            cited.append({str(docid) for docid in row["cited_doc_ids"]})

        def choose(claim: Claim, places: Sequence[Place]) -> list[Place]:
            # A claim without evidence gets the sentences found in its cited abstracts, else the
            # first sentence found.
            if claim.groups:
                return list(claim.groups[0])[:5]
            return [place for place in places if place[0] in cited[int(claim.qid)]] or list(
                places[:1]
            )

        return self._judged("SciFact", ("SUPPORTS", "REFUTES", NEI), pages, rows, choose)

    def covid_fact(self, folder: Path) -> Collection:
        """Read COVID-Fact."""
        pages: dict[tuple[str, ...], str] = {}
        rows = []
        for row in objects(folder / "COVIDFACT_dataset.jsonl"):
            docid = pages.setdefault(tuple(row["evidence"]), f"evidence-{len(pages):04d}")
            lines = [(docid, line) for line in range(len(row["evidence"]))]
            rows.append((row["claim"], LABELS[row["label"]], [lines]))
        texts = {docid: sentences for sentences, docid in pages.items()}
        return self._judged(
            "COVID-Fact",
            ("SUPPORTS", "REFUTES"),
            texts,
            rows,
            lambda claim, _: list(claim.groups[0])[:5],
        )

    def _judged(
        self,
        name: str,
        labels: tuple[str, ...],
        pages: Mapping[str, Sequence[str]],
        rows: Iterable[tuple[str, str, list[list[Place]]]],
        choose: Callable[[Claim, Sequence[Place]], list[Place]],
    ) -> Collection:
        """Write claims in FEVER's form, read them with FEVER's reader, and find their evidence.

        ``choose`` takes a claim and the places that the search found for it. It returns the places
        of given evidence.
        """
        written = []
        for number, (text, label, of_claim) in enumerate(rows):
            evidence = [[[0, 0, *place] for place in group] for group in of_claim] or [
                [[0, None, None, None]]
            ]
            written.append({"id": number, "claim": text, "label": label, "evidence": evidence})
        with (
            part(f"{name}: indexing"),
            self._indexed(name, pages) as index,
            part(f"{name}: finding evidence"),
        ):
            path = write_objects(self._work / f"{name}-claims.jsonl", written)
            claims = VERDICTS.load("fever").read_claims(path, labelled=True)
            texts = [claim.text for claim in claims]
            finder = Finder(index, CONFIG.verdict)
            retrieved = finder.find(texts)
            found = (
                [(sentence.docid, sentence.number) for sentence in of.sentences] for of in retrieved
            )
            chosen = [choose(claim, places) for claim, places in zip(claims, found, strict=True)]
            annotated = finder.with_annotated(texts, chosen, retrieved)
            cases = (
                cases_of(claims, evidence, finder, self._readers)
                for evidence in (retrieved, annotated)
            )
            return Collection(
                name,
                labels,
                claims,
                np.array([labels.index(claim.label) for claim in claims]),
                *cases,
            )

    def pairs(self, pairs: Sequence[Mapping[str, str]]) -> Cases:
        """Return pairs as cases: each claim with the sentence of its pair, from an index of all
        sentences.
        """
        with self._indexed("pairs", {pair["id"]: [pair["evidence"]] for pair in pairs}) as index:
            finder, texts = Finder(index, CONFIG.verdict), [pair["claim"] for pair in pairs]
            evidence = finder.with_annotated(
                texts, [[(pair["id"], 0)] for pair in pairs], finder.find(texts)
            )
            claims = [Claim(pair["id"], pair["claim"]) for pair in pairs]
            return cases_of(claims, evidence, finder, self._readers)

    def _indexed(self, name: str, pages: Mapping[str, Sequence[str]]) -> Index:
        rows = []
        for docid, sentences in pages.items():
            texts = [" ".join(sentence.split()) for sentence in sentences]
            lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(texts))
            rows.append({"id": docid, "text": " ".join(texts), "lines": lines})
        folder = self._work / f"{name}-index"
        build(
            BuildRequest(
                kind="fever",
                sources=(write_objects(self._work / f"wiki-{name}.jsonl", rows),),
                folder=folder,
            ),
            CONFIG,
        )
        return open_index(folder, CONFIG, encoders=lambda made_by, place: self._encoder)


def section(collection: Collection) -> str:
    """Return all figures of a collection, as Markdown."""
    rows = []
    for shown, evidence, model in (
        ("majority", "none", "majority"),
        ("hypothesis only", "none", "hypothesis"),
        ("evidence", "retrieved", "evidence"),
        ("evidence", "given", "evidence"),
    ):
        runs = [
            figures(
                collection.classes,
                collection.probabilities(model, seed, annotated=evidence == "given"),
                collection.labels,
            )
            for seed in range(SEEDS)
        ]
        macro = [run["macro_f1"] for run in runs]
        away = max(abs(value - float(np.mean(macro))) for value in macro)
        values = [
            [run["accuracy"], *(run["labels"][label]["f1"] for label in collection.labels)]
            for run in runs
        ]
        means = np.mean(
            [[*of_run, run["calibration_error"]] for of_run, run in zip(values, runs, strict=True)],
            axis=0,
        )
        rows.append(
            [
                shown,
                evidence,
                f"{np.mean(macro):.3f} ± {away:.3f}",
                *(f"{mean:.3f}" for mean in means),
            ]
        )
    counts = ", ".join(
        f"{int((collection.classes == n).sum()):,} {label}"
        for n, label in enumerate(collection.labels)
    )
    each = [f"F1 {label}" for label in collection.labels]
    header = ("model", "evidence", "macro-F1", "accuracy", *each, "calibration error")
    curve = risk_curve(collection.classes, collection.probabilities("evidence", 0))
    points = curve[:5] + curve[9::5]
    risks = [
        [f"{point.share:.1%}", f"{point.confidence:.2f}", f"{point.wrong:.3f}"] for point in points
    ]
    most = CONFIG.verdict.max_risk
    needed = needed_confidence(curve, most)
    decided = max((point.share for point in curve if point.confidence >= needed), default=0.0)
    columns = ("verdicts given, of all claims", "probability at least", "wrong of these")
    return (
        f"\n### {collection.name}\n\n{len(collection.classes):,} claims: {counts}.\n\n"
        f"{markdown_table(header, rows, left=2)}\nRisk and coverage, from the most to the least "
        "probable verdicts:\n\n"
        f"{markdown_table(columns, risks)}\n"
        f"If at most {most:.0%} of the verdicts may be wrong (`max_risk`), a verdict needs a "
        "probability of at least "
        f"{needed:.2f}. Then {decided:.1%} of the claims get a verdict.\n"
    )


def pairs_section(pairs: Sequence[Mapping[str, str]], cases: Cases, collection: Collection) -> str:
    """Return a table of verdicts on pairs, by threshold; the model was trained on a collection's
    retrieved evidence.

    As in ``verdict``, a sentence that lacks a number of the claim does not support it.
    """
    model = models.kind("evidence").fit(
        collection.retrieved, collection.classes, collection.labels, CONFIG.verdict
    )
    probability = model.probabilities(cases)
    lacking = np.array(
        [
            bool(find_unstated(quantities(pair["claim"]), quantities(pair["evidence"])))
            for pair in pairs
        ]
    )
    probability[lacking & (probability.argmax(axis=1) == 0)] = np.eye(len(collection.labels))[-1]
    labels = np.array([collection.labels.index(pair["label"]) for pair in pairs])
    verdicts, rows = probability.argmax(axis=1), []
    for least in THRESHOLDS:
        decided = (verdicts < 2) & (probability.max(axis=1) >= least)
        right = f"{(verdicts == labels)[decided].mean():.0%}" if decided.any() else ""
        rows.append(
            [f"{least:.2f}", f"{decided.sum()}", right, f"{decided[labels < 2].mean():.0%}"]
        )
    header = ("`min_confidence`", "verdicts", "right of these", "decisive pairs decided")
    lead = (
        f"{len(pairs)} pairs of claim and sentence, judged by a model that learned from "
        f"{collection.name}'s claims:"
    )
    return f"\n{lead}\n\n{markdown_table(header, rows)}"


@program()
def main(_: argparse.Namespace) -> None:
    """Measure, print the tables, write the document."""
    # Build the indexes again: kept ones might come from an older version.
    with part("all of verification"), tempfile.TemporaryDirectory() as work:
        judge, folder = Judge(Path(work)), data_folder()
        collections = [judge.scifact(folder / "scifact"), judge.covid_fact(folder / "covid-fact")]
        text = "".join(map(section, collections))
        with (ROOT / "examples" / "verdict-pairs.tsv").open(encoding="utf-8", newline="") as lines:
            pairs = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        text += "\n### Pairs\n" + pairs_section(pairs, judge.pairs(pairs), collections[0])
    publish("verification", text)


if __name__ == "__main__":
    sys.exit(main())
