"""Weigh the terms of texts by a sparse model: a masked language model that was trained as SPLADE.

A text's weights depend on that text alone: the model reads one text a call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...core.errors import ConfigError, IndexStateError, MachineError
from ...core.text import refuse_text
from ..config import ImpactSettings
from ..encoders.cache import (
    QUERY_TOKENIZER,
    QUERY_WEIGHTS,
    SPARSE,
    TERM_WEIGHTS,
    TOKENIZER,
    Export,
    ensure_export,
)
from ..encoders.runtime import ExportedModel, ModelThreads, encodable
from ..encoders.sources import SPARSE_NOUN, SPLADE_TINY, is_gone, is_same, present_place
from ..store.manifest import ImpactsInfo
from .impacts import SparseVector

_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
IDF_MODELS = (SPLADE_TINY,)
"""The models that find less with queries of their own than with words and their idf, as measured on
SciFact, NFCorpus and the tweets of CheckThat! 2020.
"""


class SparseEncoder:
    """An exported sparse model; ``info`` describes it in the manifest of an index.

    Any number of threads may use it. It loads the model for the first text, once for all threads.
    """

    def __init__(self, export: Export, settings: ImpactSettings) -> None:
        self._folder, description, model = export
        queries = settings.queries
        if queries == "auto":
            queries = "idf" if model.name in IDF_MODELS else "model"
        self.info = ImpactsInfo(
            name=model.name,
            revision=description.revision,
            model=model.setting or model.name,
            vocabulary=description.dimension,
            precision=settings.precision,
            max_tokens=settings.max_tokens,
            queries=queries,
        )
        prompts = description.prompts
        self._query_prompt = prompts.get("query", "")
        own = (prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts)
        self._document_prompt = next(own, "")
        self._running = ModelThreads(
            self._folder,
            name=model.name,
            max_tokens=description.max_tokens,
            threads=settings.threads,
        )
        has_table = QUERY_WEIGHTS in description.files
        self._query_table = QueryTable(self._folder) if has_table else None

    def weigh_query(self, text: str) -> SparseVector:
        """Return the terms of a query with their weights: those of its word pieces in the table
        for queries, if the model has one.
        """
        if self._query_table is not None:
            return self._query_table.weigh(self._query_prompt + text)
        return self._weights(self._running.load(), self._query_prompt + text)

    def weigh_documents_stream(
        self, texts: Iterable[str], size: int = 256
    ) -> Iterator[Sequence[SparseVector]]:
        """Yield the terms of documents with their weights in order, ``size`` documents at a time,
        fewer at the end.
        """
        refuse_text("texts", texts)
        prompted = (self._document_prompt + text for text in texts)
        vectors = self._running.in_order(prompted, self._weights)
        while chunk := list(itertools.islice(vectors, size)):
            yield chunk

    def word_pieces(self) -> WordPieces:
        """Load the word pieces of the model, without the model itself."""
        return WordPieces(self._folder, self.info.vocabulary)

    def close(self) -> None:
        """Stop the threads and release the model; a later call loads it again."""
        self._running.close()

    def _weights(self, model: ExportedModel, text: str) -> SparseVector:
        weights: NDArray[np.float32] = model.run(self._running.tokens(model, text), TERM_WEIGHTS)
        if not np.isfinite(weights).all():
            raise MachineError(
                f"sparse model {self.info.name!r} returned a weight that is not finite",
                remedy="choose another sparse model",
            )
        terms = np.flatnonzero(weights > 0).astype(np.int32)
        return SparseVector(terms, weights[terms])


def open_sparse_encoder(settings: ImpactSettings) -> SparseEncoder:
    """Open the configured sparse model.

    Raises ConfigError if none is configured. Raises MachineError if it is not on this machine, or
    if it is no sparse model that factseek can run.
    """
    if not settings.model.strip():
        raise ConfigError(
            "no sparse model is named",
            place="impact.model",
            remedy=f"name one, such as {SPLADE_TINY}, or the path of its folder (--impacts)",
        )
    return SparseEncoder(ensure_export(settings, SPARSE), settings)


def settings_of(made_by: ImpactsInfo, settings: ImpactSettings) -> ImpactSettings:
    """Return the settings that open the model that made an index's impacts: what shaped these
    comes from the index, how it runs here from the configuration.
    """
    return replace(
        settings,
        model=present_place(made_by.model, settings.model),
        precision=made_by.precision,
        max_tokens=made_by.max_tokens,
        queries=made_by.queries if settings.queries == "auto" else settings.queries,
    )


def open_sparse_encoder_of(
    made_by: ImpactsInfo, settings: ImpactSettings, place: Path
) -> SparseEncoder:
    """Open the model that made the impacts of the index in ``place``.

    Raises IndexStateError if it has changed, MachineError if it is not on this machine.
    """
    try:
        chosen = settings_of(made_by, settings)
        if is_gone(chosen.model):
            raise MachineError(
                f"{SPARSE_NOUN} {chosen.model!r}: there is no such folder",
                remedy="if the model is in another folder by now, set impact.model to it",
            )
        encoder = open_sparse_encoder(chosen)
    except MachineError as error:
        what = f"{error.place}: {error.what}" if error.place else error.what
        what = f"its impacts were made by {made_by}: {what}"
        raise MachineError(what, place=place, remedy=error.remedy) from None
    if is_gone(made_by.model):
        # The files tell whether it is the same model; the folder may have another name.
        encoder.info = replace(encoder.info, name=made_by.name, model=made_by.model)
    made_by.check(encoder.info, place)
    return encoder


def check_agreement(made_by: ImpactsInfo, settings: ImpactSettings, place: Path) -> None:
    """Raise IndexStateError if the configuration asks for other impacts than the index ``place``
    has.
    """
    if not settings.model.strip():
        return
    if not is_same(settings.model, present_place(made_by.model, settings.model)):
        raise IndexStateError(
            f"its impacts were made by {made_by}, not by {settings.model}",
            place=place,
            remedy="leave out --impacts and impact.model, or rebuild the index with --overwrite",
        )


class QueryTable:
    """The weight of each term in a query, whatever the query: no model reads it.

    It is loaded for the first query.
    """

    def __init__(self, folder: Path) -> None:
        """Read the table of the exported model in ``folder``."""
        self._folder = folder

    def weigh(self, text: str) -> SparseVector:
        """Return the terms of a query with their weights; a term that is twice in it counts
        once.
        """
        tokens = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        terms = np.unique(np.array(tokens.ids, dtype=np.int32))
        weights = self._weights[terms]
        return SparseVector(terms[weights > 0], weights[weights > 0])

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self._folder / QUERY_TOKENIZER))

    @cached_property
    def _weights(self) -> NDArray[np.float32]:
        weights: NDArray[np.float32] = np.load(self._folder / QUERY_WEIGHTS, allow_pickle=False)
        return weights


class WordPieces:
    """The word pieces of a text as a sparse model cuts it, each once, without special tokens."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        """Load the tokenizer of the exported model in ``folder``."""
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_truncation()
        added = self._tokenizer.get_added_tokens_decoder()
        self._left_out = {number for number, token in added.items() if token.special}
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> NDArray[np.int32]:
        """Return the numbers of the word pieces, ascending."""
        found = self._tokenizer.encode(encodable(text), add_special_tokens=False).ids
        kept = {
            number for number in found if number < self._vocabulary and number not in self._left_out
        }
        return np.array(sorted(kept), dtype=np.int32)

    def name(self, term: int) -> str:
        """Return a term as the model writes it: a piece inside a word begins with ``##``."""
        return str(self._tokenizer.id_to_token(term) or term)
