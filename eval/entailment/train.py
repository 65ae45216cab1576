"""Train a model of entailment from labelled claims to the folder that a setting names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...retrieval.claim_groups import groups
from ...retrieval.domain import Claim
from ...retrieval.entailment import CONTRADICTS, ENTAILS, LABELS, claim_digests
from ...retrieval.errors import QueryError
from ...retrieval.lines import shown
from ...retrieval.progress import Progress, silent
from ...retrieval.searcher import Searcher
from ..models import lessons
from ..models.parts import FOLDS
from ..models.request import TrainingRequest
from ..models.train import HeldBack, carried_out, check_target
from ..models.trained import TrainedModel
from ..tasks import VERDICTS
from ..training.folds import parted
from .measured import EntailmentBed
from .pairs import PairedClaim, read_pairs
from .training import EntailmentTraining

TASK = "fever"
"""The format of the files: the one that names the sentences of the evidence."""
_NAMED = 3


class EntailmentParts(NamedTuple):
    """The claims of each part. ``grouped`` says whether no two parts share a page of evidence or a near-duplicate."""

    learned: Sequence[PairedClaim]
    stopping: Sequence[PairedClaim]
    judging: Sequence[PairedClaim]
    grouped: bool


def train(
    index: Searcher, request: TrainingRequest, note: Callable[[str], None], progress: Progress = silent
) -> TrainedModel:
    """Train on the claims of ``request.files``, and write the model with its card to the new folder of the request.

    Interrupted, it leaves its checkpoints beside that folder, and the same request goes on from them. ``note`` takes
    what a reader should know.

    Raises QueryError if the folder is there or there are too few claims with evidence, SourceError if a file cannot be
    read, MachineError if the model is not on this machine or there is no room.
    """
    check_target(request.target)
    lessons.check_installed()
    claims = read_claims(request.files)
    read = read_pairs(index, claims, request.settings, progress)
    if read.missing:
        some = ", ".join(map(shown, read.missing[:_NAMED])) + (", ..." if len(read.missing) > _NAMED else "")
        note(f"{len(read.missing):,} pages of evidence, or sentences of them, are not in the index: {some}")
    parts = part(read.claims, claims, request.settings.seed)
    training = EntailmentTraining(request)
    known = claim_digests(paired.claim.text for paired in (*parts.learned, *parts.stopping))
    held_back = HeldBack(
        stopping=EntailmentBed(parts.stopping),
        judging=EntailmentBed(parts.judging),
        counts={"learned": len(parts.learned), "stopping": len(parts.stopping), "judging": len(parts.judging)},
        grouped=parts.grouped,
        claims=tuple(known),
    )
    learned = [pair for paired in parts.learned for pair in paired.pairs]
    return carried_out(training, request, learned, held_back, progress)


def read_claims(files: Sequence[Path]) -> list[Claim]:
    """Return the claims of files with labels, in their order."""
    format_ = VERDICTS.load(TASK)
    return [claim for path in files for claim in format_.read_claims(path, labelled=True)]


def part(paired: Sequence[PairedClaim], claims: Sequence[Claim], seed: int) -> EntailmentParts:
    """Part claims with evidence, drawn with ``seed``; those that share a page or are near-duplicates stay together.

    Raises QueryError if there are fewer than ten, or none that evidence supports, or none that it refutes.
    """
    if len(paired) < FOLDS:
        raise QueryError(
            f"{len(paired)} of the claims have evidence in the index, and {FOLDS} are needed: "
            "to learn from, to stop by and to judge by"
        )
    together = groups(claims)
    folds, grouped = parted({str(claim.row): {str(together[claim.row]): 1} for claim in paired}, FOLDS, seed)
    stopping, first, second, *learned = ([paired[row] for row in fold.tolist()] for fold in folds)
    parts = EntailmentParts([claim for fold in learned for claim in fold], stopping, first + second, grouped)
    there = {pair.label for claim in parts.learned for pair in claim.pairs}
    for label, verb in ((ENTAILS, "supports"), (CONTRADICTS, "refutes")):
        if LABELS.index(label) not in there:
            raise QueryError(f"no claim to learn from has evidence in the index that {verb} it")
    return parts
