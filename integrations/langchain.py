"""A retriever for LangChain: the passages of an index as its documents."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.exceptions import LangChainException
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, Field, PrivateAttr, SecretStr

from ..retrieval.errors import FactseekError
from ._records import SearchChoices
from ._source import EvidenceSource, open_source

LIBRARY = "langchain_core"
EXTRA = "langchain"


class Choices(BaseModel, extra="forbid"):
    """The fields of :class:`factseek.integrations._records.SearchChoices`, checked, and no others."""

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
    """Retrieve the passages of an index, best first, each with docid, score, source, date, URL and highlights.

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``). What is given with a call
    (``invoke(query, k=3, filter={…})``), or bound, takes the place of the retriever's own choice. ``ainvoke`` and
    ``abatch`` search in a thread. A search that fails raises LangChainException, a wrong argument, or one that there
    is not, pydantic's ValidationError.
    """

    index: str
    api_key: SecretStr = SecretStr("")
    timeout: float = 30.0
    _source: EvidenceSource = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Find out where the index lies; it is opened when it is first asked.

        Raises LangChainException if an address is none of a served index.
        """
        try:
            self._source = open_source(self.index, api_key=self.api_key.get_secret_value(), timeout=self.timeout)
        except FactseekError as error:
            raise LangChainException(error.line) from error

    def close(self) -> None:
        """Let go of the index; asked again, it is opened again as it then is."""
        self._source.close()

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, verbose: bool = False, **given: Any
    ) -> list[Document]:
        """Return the passages for a query; ``verbose`` is LangChain's own.

        Raises LangChainException if it cannot be searched for, ValidationError if a choice that is given is none.
        """
        own = {name: getattr(self, name) for name in SearchChoices._fields}
        choices = SearchChoices(**dict(Choices.model_validate(own | given)))
        try:
            (ranked,) = self._source.passages([query], choices)
        except FactseekError as error:
            raise LangChainException(error.line) from error
        return [Document(id=hit.docid, page_content=hit.passage.text, metadata=hit.facts()) for hit in ranked]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        """Return the passages for a query, which a thread searches for.

        Raises what the other raises.
        """
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **given)
