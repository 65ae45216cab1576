"""A retriever for LangChain: it returns the passages of an index as LangChain's documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.exceptions import LangChainException
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, create_model

from ._choices import keyword_types, parse_choices
from ._source import errors_as, facts, open_source

LIBRARY = "langchain_core"
EXTRA = "langchain"


def _fields() -> dict[str, Any]:
    """Return the fields of :class:`Choices`: the options of a search that libraries have."""
    fields: dict[str, Any] = {}
    for name, (kind, default) in keyword_types().items():
        fields[name] = kind, Field(default_factory=dict) if default == {} else default
    fields["k"] = int, Field(default=10, ge=1)
    return fields


if TYPE_CHECKING:

    class Choices(BaseModel):
        """The options of a search."""
else:
    Choices = create_model("Choices", __config__=ConfigDict(extra="forbid"), **_fields())
    """The options of a search, validated; other fields are refused."""


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
        own = {name: getattr(self, name) for name in Choices.model_fields}
        named = dict(Choices.model_validate(own | given))
        with errors_as(LangChainException):
            choices = parse_choices(named.pop("k"), named)
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
