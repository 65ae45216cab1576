"""A transformer for PyTerrier: queries in, ranked documents out, composed and evaluated like any other.

It starts no Terrier. A folder is searched by this process's Java, which then has no Terrier on its class path:
pipelines that use Terrier's own indexes too ask a served index by its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyterrier as pt

from ..retrieval.errors import FactseekError
from ._records import TEXT_FIELDS, RankedPassage, chosen
from ._source import open_source

LIBRARY = "pyterrier"
EXTRA = "pyterrier"

_RANKED = ["docno", "score", "rank"]
_FIELDS = ("text", "passage", "start", "end", *TEXT_FIELDS)


class FactseekTransformer(pt.Transformer):
    """Rank the documents of an index for each query of a frame (``qid``, ``query``).

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``); ``choices`` are the other
    fields of :class:`factseek.integrations._records.SearchChoices`, such as ``filter`` and ``as_of``. What comes out
    has ``docno``, ``score`` and ``rank`` from 0 beside the columns that came in, in the total order, and those named in
    ``metadata``: ``text``, ``title``, ``url``, ``date``, ``source`` and so on. Whatever cannot be searched for raises
    ValueError, a frame without queries PyTerrier's InputValidationError.
    """

    def __init__(
        self,
        index: str,
        retriever: str | None = None,
        *,
        num_results: int = 1000,
        metadata: Sequence[str] = (),
        api_key: str = "",
        timeout: float = 300.0,
        **choices: Any,
    ) -> None:
        """Find out where the index lies; it is opened when it is first asked.

        Raises ValueError if an address is none of a served index, or there is no such choice or field.
        """
        for name in metadata:
            if name not in _FIELDS:
                raise ValueError(f"metadata {name!r}: there is no such field; there are {', '.join(_FIELDS)}")
        self.index = index
        self.metadata = tuple(metadata)
        try:
            self.choices = chosen(num_results, {"retriever": retriever, **choices})
            self._source = open_source(index, api_key=api_key, timeout=timeout)
        except FactseekError as error:
            raise ValueError(error.line) from error

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents of each query.

        Raises ValueError if a query cannot be searched for, InputValidationError if the frame has no queries.
        """
        pt.validate.query_frame(inp, extra_columns=["query"])
        try:
            rankings = self._rankings([str(query) for query in inp["query"]])
        except FactseekError as error:
            raise ValueError(error.line) from error
        columns = [*_RANKED, *self.metadata]
        kept = inp.drop(columns=[name for name in columns if name in inp.columns])
        at = [row for row, ranking in enumerate(rankings) for _ in ranking]
        ranked = pd.DataFrame([row for ranking in rankings for row in ranking], columns=columns)
        out = pd.concat([kept.iloc[at].reset_index(drop=True), ranked], axis=1)
        # Scores are float32, however many digits they came in.
        return out.astype({"score": "float32", "rank": "int64"}).astype({"score": "float64"})

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Return a transformer that ranks no more than ``k`` documents: what ``% k`` is compiled to."""
        if self.choices.k is not None and self.choices.k <= k:
            return self
        fewer = FactseekTransformer.__new__(FactseekTransformer)
        fewer.__dict__.update(self.__dict__, choices=self.choices._replace(k=k))
        return fewer

    def close(self) -> None:
        """Let go of the index; asked again, it is opened again as it then is."""
        self._source.close()

    def __repr__(self) -> str:
        """Name the index and the ranking."""
        ranking = f", {self.choices.retriever!r}" if self.choices.retriever else ""
        return f"FactseekTransformer({self.index!r}{ranking}, num_results={self.choices.k})"

    def _rankings(self, queries: Sequence[str]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each query: docid, score, rank from 0, and the fields that are wanted."""
        if not queries:
            return []
        if not self.metadata:
            columns = self._source.columns(queries, self.choices)
            return [
                [(docid, score, rank) for rank, (docid, score) in enumerate(zip(*ranking, strict=True))]
                for ranking in columns
            ]
        passages = self._source.passages(queries, self.choices)
        return [[(hit.docid, hit.score, hit.rank - 1, *self._fields(hit)) for hit in hits] for hits in passages]

    def _fields(self, hit: RankedPassage) -> list[Any]:
        facts = {**hit.facts(), "text": hit.passage.text}
        return [facts.get(name, "") for name in self.metadata]
