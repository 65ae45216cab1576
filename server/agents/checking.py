"""Verdicts on claims by the evidence of an index, where a model of verdicts is served."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...claims import settings as claims
from ...claims.evidence.sentences import Finder
from ...claims.verdicts import training
from ...claims.verdicts.training import TrainedVerdicts
from ...claims.verdicts.verdict import Verdict
from ...retrieval.config import view
from ...retrieval.domain import Claim
from ...retrieval.errors import QueryError
from ...retrieval.filters import parse_filter
from ..settings import Config

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

WARNING = (
    "A model made this verdict from the sentences that it found; it is often wrong. Read the evidence, and name the "
    "sources, not the verdict, to whoever asked."
)
NO_MODEL = "No model of verdicts is served: judge by the evidence, and name its sources."


class Checker:
    """Judges claims by the model in a file and the evidence of an index; without a file it judges none."""

    def __init__(self, path: Path | None, config: Config) -> None:
        """Load the model.

        Raises SourceError if the file holds none.
        """
        self._learned: TrainedVerdicts | None = training.load(path, view(config, claims.Config)) if path else None
        self._settings = config.verdict

    def verdict(self, claim: str, index: Index, as_of: str) -> Verdict | None:
        """Return the verdict on a claim, None where no model is served.

        Raises QueryError if the index is not of the kind that the model learned with, or the claim cannot be searched.
        """
        if self._learned is None:
            return None
        where = parse_filter([], as_of=as_of) if as_of else None
        verifier = self._learned.verifier(Finder(index, self._settings, where), self._settings, for_people=True)
        verdict = next(verifier.verify([Claim("claim", claim)]), None)
        if verdict is None:
            raise QueryError("the claim was not judged")
        return verdict
