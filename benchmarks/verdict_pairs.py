"""Judge pairs of a claim and one sentence by a model that learned from a labelled collection.

A file of pairs is a table like ``examples/verdict-pairs.tsv``. Each claim is judged by the sentence beside it alone. A
verdict is for or against; on a pair that leaves its claim open any verdict is wrong.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.verification_tables import JudgedCollection
from factseek.claims.evidence.sentences import Finder
from factseek.claims.text.quantities import quantities, unstated
from factseek.claims.verdicts import models
from factseek.claims.verdicts.models import Cases
from factseek.claims.verdicts.readers import Readers
from factseek.claims.verdicts.verdict import cases_of
from factseek.eval.reports.page import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.domain import Claim
from factseek.retrieval.encoder import Encoder
from factseek.retrieval.files import write_atomically
from factseek.retrieval.index.local import open_index
from factseek.settings import Config

THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.7)


class VerdictPair(NamedTuple):
    """A claim, the sentence beside it, what that says of the claim, and what makes the pair difficult."""

    id: str
    claim: str
    evidence: str
    label: str
    kind: str


def read_pairs(path: Path) -> list[VerdictPair]:
    """Read a file of pairs, whose header names the columns."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [VerdictPair(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def section(
    pairs: Sequence[VerdictPair], collection: JudgedCollection, work: Path, encoder: Encoder, readers: Readers
) -> str:
    """Return what a model that learned on a collection's retrieved evidence says of pairs, by threshold and by kind.

    As in ``verdict``, what lacks a number of the claim does not support it.
    """
    probability = _probabilities(pairs, collection, work, encoder, readers)
    lacking = np.array([bool(unstated(quantities(pair.claim), quantities(pair.evidence))) for pair in pairs])
    probability[lacking & (probability.argmax(axis=1) == 0)] = np.eye(len(collection.labels))[-1]
    labels = np.array([collection.labels.index(pair.label) for pair in pairs])
    kinds = np.array([pair.kind for pair in pairs])
    every = np.ones(len(pairs), dtype=bool)
    by_threshold = [[f"{least:.2f}", *counted(probability, labels, every, least)] for least in THRESHOLDS]
    by_kind = [[kind, *counted(probability, labels, kinds == kind, 0.0)] for kind in dict.fromkeys(kinds.tolist())]
    columns = ("pairs", "verdicts", "right of these", "decisive pairs decided")
    return (
        f"\n{len(pairs)} pairs, judged by what {collection.name}'s claims teach:\n\n"
        + markdown_table(("`min_confidence`", *columns), by_threshold)
        + "\n"
        + markdown_table(("kind, at 0", *columns), by_kind)
    )


def counted(
    probability: NDArray[np.float64], labels: NDArray[np.int64], among: NDArray[np.bool_], least: float
) -> list[str]:
    """Return how many pairs there are, how many got a verdict, and the shares that were right and decided."""
    verdicts, decisive = probability.argmax(axis=1), labels < 2
    decided_pairs = among & (verdicts < 2) & (probability.max(axis=1) >= least)
    right = f"{(verdicts == labels)[decided_pairs].mean():.0%}" if decided_pairs.any() else ""
    decided = f"{decided_pairs[among & decisive].mean():.0%}" if (among & decisive).any() else ""
    return [f"{among.sum()}", f"{decided_pairs.sum()}", right, decided]


def _probabilities(
    pairs: Sequence[VerdictPair], collection: JudgedCollection, work: Path, encoder: Encoder, readers: Readers
) -> NDArray[np.float64]:
    """Return the probability of each of the collection's labels, shape (pairs, labels)."""
    model = models.kind("evidence").fit(
        collection.retrieved, collection.classes, collection.labels, collection.settings
    )
    probability: NDArray[np.float64] = model.probabilities(_cases(pairs, work, encoder, readers))
    return probability


def _cases(pairs: Sequence[VerdictPair], work: Path, encoder: Encoder, readers: Readers) -> Cases:
    """Return the pairs as cases, each with its own sentence, out of an index of all sentences."""
    pages, config = work / "wiki-001.jsonl", Config()
    lines = [{"id": pair.id, "text": pair.evidence, "lines": f"0\t{pair.evidence}"} for pair in pairs]
    write_atomically(pages, "".join(json.dumps(line) + "\n" for line in lines).encode())
    build(BuildRequest(kind="fever", sources=(pages,), folder=work / "pairs-index"), config)
    claims = [Claim(pair.id, pair.claim) for pair in pairs]
    texts = [pair.claim for pair in pairs]
    with open_index(work / "pairs-index", config, encoders=lambda made_by, place: encoder) as index:
        finder = Finder(index, config.verdict)
        places = [[(pair.id, 0)] for pair in pairs]
        return cases_of(claims, finder.with_annotated(texts, places, finder.find(texts)), finder, readers)
