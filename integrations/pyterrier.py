"""A transformer for PyTerrier that ranks documents for queries; it is composed and evaluated like
any other.

It starts no Terrier. For a folder, the search runs in this process's Java, which then has no
Terrier on its class path. A pipeline that also uses Terrier's own indexes must therefore ask a
served index by its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyterrier as pt
from msgspec.structs import replace

from ..retrieval.search.evidence import Evidence
from ._choices import parse_choices
from ._source import TEXT_FIELDS, errors_as, facts, open_source

LIBRARY = "pyterrier"
EXTRA = "pyterrier"

_RANKED = ["docno", "score", "rank"]
_FIELDS = ("text", "passage", "start", "end", *TEXT_FIELDS)


class FactseekTransformer(pt.Transformer):
    """Rank the documents of an index for each query of a frame (``qid``, ``query``).

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``).
    ``choices`` are the other options of a search, such as ``filter`` and ``as_of``. The output has
    the documents of each query, best first. It adds ``docno``, ``score`` and ``rank`` (from 0) to
    the input's columns, and the fields named in ``metadata``: ``text``, ``title``, ``url``,
    ``date``, ``source`` and so on. Raises ValueError if a search fails, PyTerrier's
    InputValidationError if the frame has no queries.
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
        """Set up the transformer; the first search opens the index.

        Raises ValueError if ``index`` is a web address but not that of a served index, or a choice
        or a field is unknown.
        """
        for name in metadata:
            if name not in _FIELDS:
                raise ValueError(
                    f"metadata {name!r}: there is no such field; the fields are "
                    f"{', '.join(_FIELDS)}"
                )
        self.index = index
        self.metadata = tuple(metadata)
        with errors_as(ValueError):
            self.choices = parse_choices(num_results, {"retriever": retriever, **choices})
            self._source = open_source(index, api_key=api_key, timeout=timeout)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents of each query.

        Raises ValueError if a search fails, InputValidationError if the frame has no queries.
        """
        pt.validate.query_frame(inp, extra_columns=["query"])
        with errors_as(ValueError):
            # A missing query (None or NaN) has no words.
            rankings = self._rankings(
                ["" if pd.isna(query) else str(query) for query in inp["query"]]
            )
        columns = [*_RANKED, *self.metadata]
        kept = inp.drop(columns=[name for name in columns if name in inp.columns])
        at = [row for row, ranking in enumerate(rankings) for _ in ranking]
        ranked = pd.DataFrame([row for ranking in rankings for row in ranking], columns=columns)
        out = pd.concat([kept.iloc[at].reset_index(drop=True), ranked], axis=1)
        # Scores have float32 precision, however many digits the source gave.
        return out.astype({"score": "float32", "rank": "int64"}).astype({"score": "float64"})

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Return a transformer that ranks at most ``k`` documents; PyTerrier compiles ``% k`` to
        it.
        """
        if self.choices.k is not None and self.choices.k <= k:
            return self
        fewer = FactseekTransformer.__new__(FactseekTransformer)
        fewer.__dict__.update(self.__dict__, choices=replace(self.choices, k=k))
        return fewer

    def close(self) -> None:
        """Close the index; the next search opens its newest state."""
        self._source.close()

    def __repr__(self) -> str:
        """Return the index, the retriever and the number of results as text."""
        ranking = f", {self.choices.retriever!r}" if self.choices.retriever else ""
        return f"FactseekTransformer({self.index!r}{ranking}, num_results={self.choices.k})"

    def _rankings(self, queries: Sequence[str]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each query: docid, score, rank from 0, and the fields in
        ``metadata``.
        """
        if not queries:
            return []
        if not self.metadata:
            ranked = self._source.columns(queries, self.choices)
            return [
                [(*hit, rank) for rank, hit in enumerate(zip(*ranking, strict=True))]
                for ranking in ranked
            ]
        passages = self._source.passages(queries, self.choices)
        return [
            [(hit.docid, hit.score, hit.rank - 1, *self._fields(hit)) for hit in hits]
            for hits in passages
        ]

    def _fields(self, hit: Evidence) -> list[Any]:
        values = {**facts(hit), "text": hit.passage.text}
        return [values.get(name, "") for name in self.metadata]
