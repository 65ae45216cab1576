"""A retriever for LlamaIndex: it returns the passages of an index as LlamaIndex's nodes."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from ..retrieval.search.evidence import Evidence
from ._choices import parse_choices
from ._source import errors_as, facts, open_source

LIBRARY = "llama_index"
EXTRA = "llama-index"


class FactseekRetriever(BaseRetriever):
    """Retrieve the passages of an index, best first, each with docid, score, source, date, URL and
    highlights.

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``).
    ``choices`` are the other options of a search, such as ``filter`` and ``as_of``. ``aretrieve``
    searches in a thread. Raises ValueError if a search fails.
    """

    def __init__(
        self,
        index: str,
        *,
        similarity_top_k: int = 10,
        api_key: str = "",
        timeout: float = 30.0,
        callback_manager: Any = None,
        verbose: bool = False,
        **choices: Any,
    ) -> None:
        """Set up the retriever; the first search opens the index.

        Raises ValueError if ``index`` is a web address but not that of a served index, or a choice
        is unknown.
        """
        with errors_as(ValueError):
            self._choices = parse_choices(similarity_top_k, choices)
            self._source = open_source(index, api_key=api_key, timeout=timeout)
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def close(self) -> None:
        """Close the index; the next search opens its newest state."""
        self._source.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with errors_as(ValueError):
            (ranked,) = self._source.passages([query_bundle.query_str], self._choices)
        return [_node(hit) for hit in ranked]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


_UNSEEN = ["docid", "rank", "score", "passage", "start", "end", "highlights", "retrievers"]
"""Metadata to leave out of the text that a language model or an encoder reads."""


def _node(hit: Evidence) -> NodeWithScore:
    node = TextNode(
        id_=f"{hit.docid}#{hit.passage.number}",
        text=hit.passage.text,
        metadata=facts(hit),
        start_char_idx=hit.passage.start,
        end_char_idx=hit.passage.end,
        excluded_llm_metadata_keys=_UNSEEN,
        excluded_embed_metadata_keys=_UNSEEN,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.docid)},
    )
    return NodeWithScore(node=node, score=hit.score)
