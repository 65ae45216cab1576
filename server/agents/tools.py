"""The tools and resources that an agent is given, with typed answers that are short and name their sources.

Each asks the HTTP API, but for a verdict, which that has no route for. A docstring is what the agent reads of a tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, Field

from ... import __version__
from ...retrieval.errors import QueryError
from .asking import Api, RefusedQuestionError
from .checking import NO_MODEL, WARNING, Checker

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from ...retrieval.index.local import Index

_INSTRUCTIONS = (
    "Search these indexes for evidence on a claim. Cite what you use by its citation; never state more than the "
    "evidence says. An index of fact-checks holds claims with the rating of whoever checked them."
)
_EXCERPT = 600
"""Characters of a passage in an answer, at most; get_document has the whole."""
_MOST = 20
"""Hits of an answer, at most: an agent reads each."""
T = TypeVar("T")

Query = Annotated[str, Field(min_length=1, description="a claim, a tweet or a question")]
IndexName = Annotated[str, Field(description="an index of list_indexes; left out: the first")]
Hits = Annotated[int, Field(ge=1, le=_MOST, description="how many hits")]
AsOf = Annotated[str, Field(description="only documents up to this day, month or year, such as 2020-03")]
Retriever = Annotated[str | None, Field(description="a ranking of list_indexes; left out: the index's first")]


class EvidenceHit(BaseModel):
    """A document that bears on the query: its best passage, and how to cite it."""

    citation: str
    docid: str
    title: str
    passage: str
    source: str
    date: str
    url: str
    rating: str = ""
    score: float


class SearchResult(BaseModel):
    """The hits of a query, best first; ``note`` says what a reader of them should know."""

    index: str
    hits: list[EvidenceHit]
    note: str


class WholeDocument(BaseModel):
    """A document as it was indexed."""

    index: str
    docid: str
    title: str
    text: str
    source: str
    date: str
    url: str
    metadata: dict[str, Any]


class IndexDescription(BaseModel):
    """An index: how much it holds, its language, its rankings, the default first."""

    name: str
    documents: int
    language: str
    retrievers: list[str]


class IndexDescriptions(BaseModel):
    """The indexes that can be searched."""

    indexes: list[IndexDescription]


class CheckedClaim(BaseModel):
    """The evidence on a claim and, where a model is served, what it makes of it."""

    claim: str
    evidence: SearchResult
    verdict: str | None
    probabilities: dict[str, float]
    abstained: str
    warning: str


class RankedText(BaseModel):
    """A text with its place among others."""

    rank: int
    text: str
    score: float
    probability: float | None


class RankedTexts(BaseModel):
    """Texts, those worth checking first."""

    ranker: str
    claims: list[RankedText]
    note: str


class AgentTools:
    """The tools over the indexes of an application; each is run in a thread of ``pool``, for Java to know it."""

    def __init__(self, api: Api, indexes: Mapping[str, Index], checker: Checker, pool: Executor) -> None:
        self._api = api
        self._indexes = indexes
        self._checker = checker
        self._pool = pool

    def server(self) -> MCPServer:
        """Return the MCP server that offers the tools, and documents as resources."""
        from mcp.server.mcpserver.resources import ResourceSecurity

        from .one_line_server import OneLineServer

        server = OneLineServer("factseek", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
        for tool in (self.search, self.get_document, self.list_indexes, self.check_claim, self.rank_claims):
            server.add_tool(tool)
        # A docid is no path: it may hold whatever the collection calls its documents.
        security = ResourceSecurity(exempt_params=frozenset({"docid"}))
        server.resource("factseek://{index}/{+docid}", name="document", mime_type="text/plain", security=security)(
            self.document_text
        )
        return server

    async def search(
        self, query: Query, index: IndexName = "", k: Hits = 5, retriever: Retriever = None, as_of: AsOf = ""
    ) -> SearchResult:
        """Find documents that bear on a claim, a tweet or a question, best first."""
        return await self._run(lambda: self._search(query, self._named(index), k, retriever, as_of))

    async def get_document(self, docid: str, index: IndexName = "") -> WholeDocument:
        """Return the whole of a document by its docid."""
        return await self._run(lambda: self._document(self._named(index), docid))

    async def list_indexes(self) -> IndexDescriptions:
        """Return the indexes that can be searched."""
        summaries = (await self._run(lambda: self._api.get("indexes")))["indexes"]
        wanted = IndexDescription.model_fields
        return IndexDescriptions(
            indexes=[IndexDescription(**{name: entry[name] for name in wanted}) for entry in summaries]
        )

    async def check_claim(self, claim: Query, index: IndexName = "", k: Hits = 5, as_of: AsOf = "") -> CheckedClaim:
        """Find the evidence on a claim and, where a model is served, say what it makes of it, with a warning."""
        return await self._run(lambda: self._checked(claim, self._named(index), k, as_of))

    async def rank_claims(
        self, texts: Annotated[list[str], Field(min_length=1, description="tweets or sentences")]
    ) -> RankedTexts:
        """Rank texts by how far they hold a claim that is worth checking."""
        claims = [{"id": str(number), "text": text} for number, text in enumerate(texts, 1)]
        answer = await self._run(lambda: self._api.post({"claims": claims, "words": 0}, "claims", "rank"))
        wanted = RankedText.model_fields
        ranked = [RankedText(**{name: entry[name] for name in wanted}) for entry in answer["claims"]]
        return RankedTexts(ranker=answer["ranker"], claims=ranked, note=answer["note"])

    async def document_text(self, index: str, docid: str) -> str:
        """The title and the text of a document."""
        from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

        try:
            document = await self._in_pool(lambda: self._document(self._named(index), docid))
        except RefusedQuestionError as error:
            kind = ResourceNotFoundError if error.status == HTTPStatus.NOT_FOUND else ResourceError
            raise kind(str(error)) from None
        return f"{document.title}\n{document.text}" if document.title else document.text

    async def _run(self, call: Callable[[], T]) -> T:
        """Return what ``call`` returns, run in a thread of the pool.

        Raises ToolError, with one line that the agent can act on, if what was asked makes no sense.
        """
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            return await self._in_pool(call)
        except RefusedQuestionError as error:
            raise ToolError(str(error)) from None
        except QueryError as error:
            raise ToolError(error.what) from None

    async def _in_pool(self, call: Callable[[], T]) -> T:
        """Return what ``call`` returns, run in a thread of the pool."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def _named(self, index: str) -> str:
        return index or next(iter(self._indexes))

    def _document(self, name: str, docid: str) -> WholeDocument:
        body = self._api.get(name, "documents", docid)["document"]
        fields = {field: body[field] for field in WholeDocument.model_fields if field in body}
        return WholeDocument(index=name, **fields)

    def _search(self, query: str, name: str, k: int, retriever: str | None, as_of: str) -> SearchResult:
        body = {"query": query, "k": k, "retriever": retriever, "as_of": as_of or None, "highlight": False}
        answer = self._api.post(body, name, "search")
        hits = [_hit(number, hit) for number, hit in enumerate(answer["hits"], 1)]
        return SearchResult(index=name, hits=hits, note=answer["note"])

    def _checked(self, claim: str, name: str, k: int, as_of: str) -> CheckedClaim:
        evidence = self._search(claim, name, k, None, as_of)
        verdict = self._checker.verdict(claim, self._indexes[name], as_of)
        return CheckedClaim(
            claim=claim,
            evidence=evidence,
            verdict=verdict.label if verdict else None,
            probabilities=verdict.probabilities if verdict else {},
            abstained=verdict.abstained if verdict else "",
            warning=WARNING if verdict else NO_MODEL,
        )


def _hit(number: int, hit: dict[str, Any]) -> EvidenceHit:
    text = hit["passage"]["text"]
    passage = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rpartition(' ')[0]} …"
    rating = hit["metadata"].get("rating", "")
    where = ", ".join(part for part in (hit["source"], hit["date"], hit["url"] or hit["docid"]) if part)
    return EvidenceHit(
        citation=f"[{number}] {hit['title'] or hit['docid']} ({where})",
        docid=hit["docid"],
        title=hit["title"],
        passage=passage,
        source=hit["source"],
        date=hit["date"],
        url=hit["url"],
        rating=rating if isinstance(rating, str) else "",
        score=hit["score"],
    )
