"""A retriever for LangChain: it returns the passages of an index as LangChain's documents."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.exceptions import LangChainException
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, Field, PrivateAttr, SecretStr

from ._choices import SearchChoices
from ._source import errors_as, facts, open_source

LIBRARY = "langchain_core"
EXTRA = "langchain"


class Choices(BaseModel, extra="forbid"):
    """The fields of :class:`factseek.integrations._choices.SearchChoices`, validated; other fields
    are refused.
    """

    k: int = Field(default=10, ge=1)
    retriever: str | None = None
    filter: dict[str, str | list[str]] = Field(default_factory=dict)
    as_of: str = ""
    since: str = ""
    undated: bool = False
    profile: str | None = None
    stages: list[str] | None = None
    collapse: str | None = None


class FactseekRetriever(Choices, BaseRetriever, extra="forbid"):
    """Retrieve the passages of an index, best first, each with docid, score, source, date, URL and
    highlights.

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``).
    Arguments of a call (``invoke(query, k=3, filter={…})``) and bound arguments replace the
    retriever's own choices. ``ainvoke`` and ``abatch`` search in a thread. Raises
    LangChainException if a search fails, pydantic's ValidationError if an argument is wrong or
    unknown.
    """

    index: str
    api_key: SecretStr = SecretStr("")
    timeout: float = 30.0
    _source: Any = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Set up the retriever; the first search opens the index.

        Raises LangChainException if ``index`` is a web address but not that of a served index.
        """
        with errors_as(LangChainException):
            self._source = open_source(
                self.index, api_key=self.api_key.get_secret_value(), timeout=self.timeout
            )

    def close(self) -> None:
        """Close the index; the next search opens its newest state."""
        self._source.close()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        verbose: bool = False,
        **given: Any,
    ) -> list[Document]:
        # LangChain gives ``verbose``, which has no effect here.
        own = {name: getattr(self, name) for name in SearchChoices._fields}
        choices = SearchChoices(**dict(Choices.model_validate(own | given)))
        with errors_as(LangChainException):
            (ranked,) = self._source.passages([query], choices)
        return [
            Document(id=hit.docid, page_content=hit.passage.text, metadata=facts(hit))
            for hit in ranked
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **given
        )
