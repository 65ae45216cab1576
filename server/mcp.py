"""The tools of language-model agents: ``factseek mcp``, an MCP server over the HTTP API, asked within the process.

An agent meets the same checks, limits and notes as a client. Each tool asks the HTTP API, but for a verdict, which that
has no route for. A docstring is what the agent reads of a tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import Flask
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from pydantic import ValidationError
from werkzeug.test import Client, TestResponse

from ..claims import settings as claims
from ..claims.evidence.sentences import Finder
from ..claims.verdicts import training
from ..claims.verdicts.training import TrainedVerdicts
from ..claims.verdicts.verdict import Verdict
from ..retrieval.config import view
from ..retrieval.domain import Claim
from ..retrieval.errors import QueryError
from ..retrieval.filters import parse_filter
from .settings import Config

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult

    from ..retrieval.search.index import Index
from collections.abc import Mapping
from concurrent.futures import Executor
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, Field

from .. import __version__

if TYPE_CHECKING:
    from mcp.server import MCPServer
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from ..retrieval.errors import ConfigError
from ..retrieval.search.index import open_index
from ..retrieval.terminal import say
from .api import rankers
from .logs import log_to_stderr

if TYPE_CHECKING:
    from mcp.server import MCPServer


class RefusedQuestionError(Exception):
    """The API refused what was asked; the message is what it said, ``status`` that of its answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """The HTTP API of an application. Safe for threads."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def get(self, *parts: str) -> Any:
        """Return what is answered at the address of these parts, each of which may hold anything.

        Raises RefusedQuestionError if it is an error.
        """
        return self._asked("GET", parts, None)

    def post(self, body: dict[str, Any], *parts: str) -> Any:
        """Return what is answered to a body, what is None in it left out.

        Raises RefusedQuestionError if it is an error.
        """
        return self._asked("POST", parts, {name: value for name, value in body.items() if value is not None})

    def _asked(self, method: str, parts: tuple[str, ...], body: dict[str, Any] | None) -> Any:
        address = "/v1/" + "/".join(quote(part, safe="") for part in parts)
        with Client(self._app.wsgi_app).open(address, method=method, json=body) as answer:
            content = answer.get_json()
        if answer.status_code >= 400:
            raise RefusedQuestionError(content["detail"], answer.status_code)
        return content


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


Application = Callable[[Any, Any, Any], Awaitable[None]]
_CREDENTIALS = (b"authorization", b"x-api-key")
_ASKED = "/v1/indexes"
"""What is asked on behalf of a caller, to learn whether it may ask at all."""


class Gate:
    """An ASGI application before another, which asks ``door``, the HTTP API, whether a caller may ask."""

    def __init__(self, app: Application, door: Flask, threads: int) -> None:
        self._app = app
        self._door = door
        self._pool = ThreadPoolExecutor(threads, "gate")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request on, or answer the refusal of the API."""
        if scope["type"] == "http":
            refusal = await asyncio.get_running_loop().run_in_executor(self._pool, self._refusal, scope)
            if refusal is not None:
                await _answer(refusal, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Any) -> TestResponse | None:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
                   if name in _CREDENTIALS]  # fmt: skip
        address = (scope.get("client") or ("",))[0]
        answer = Client(self._door.wsgi_app).get(_ASKED, headers=headers, environ_base={"REMOTE_ADDR": address})
        return answer if answer.status_code >= 400 else None


async def _answer(refusal: TestResponse, send: Any) -> None:
    kept = ("content-type", "retry-after", "www-authenticate", "x-request-id")
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers if name.lower() in kept]
    await send({"type": "http.response.start", "status": refusal.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.get_data()})


class OneLineServer(MCPServer[Any]):
    """An MCP server whose refusals of arguments are one line, each argument by its name."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by its name.

        Raises ToolError, in one line, if the arguments make no sense or the tool refuses them.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error, UnexpectedToolError) or not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(f"Error executing tool {name}: {_line(error.__cause__)}") from None


def _line(error: ValidationError) -> str:
    """Return what is wrong with each argument."""
    faults = ((".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors(include_input=False))
    return "; ".join(f"{name}: {message}" for name, message in faults)


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


Factory = Callable[..., Flask]
"""Makes the application of a configuration and open indexes, as :func:`factseek.server.app.create_app` does."""
PATH = "/mcp"
"""Where the tools are over HTTP."""


def run_stdio(config: Config, verdicts: Path | None, create_app: Factory) -> None:
    """Offer the tools on standard input and output until that ends."""
    log_to_stderr()
    with opened(config, verdicts, create_app) as (server, _):
        server.run("stdio")


def run_http(config: Config, verdicts: Path | None, create_app: Factory, listener: socket.socket, url: str) -> None:
    """Offer the tools over HTTP on a bound socket, as streamable HTTP, until a signal stops it.

    Keys and rates are those of the server; a body is as long as one of its requests, at most.
    """
    import uvicorn

    log_to_stderr()
    with opened(config, verdicts, create_app) as (server, indexes):
        settings = config.server
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=settings.max_body_bytes,
            host=settings.host,
        )
        gate = Gate(app, create_app(config, indexes), settings.threads)
        say(f"factseek offers its tools on {url}{PATH}")
        uvicorn.Server(uvicorn.Config(gate, log_level="warning", access_log=False)).run(sockets=[listener])


@contextmanager
def opened(config: Config, verdicts: Path | None, create_app: Factory) -> Iterator[tuple[MCPServer, dict[str, Index]]]:
    """Open the indexes and the models, and give the tools over them; close them afterwards.

    Raises ConfigError if no index is named; IndexStateError, SourceError or MachineError if one cannot be opened.
    """
    if not config.server.indexes:
        raise ConfigError("there is no index to search: name one under server.indexes, or with --index NAME=DIR")
    checker = Checker(verdicts, config)
    with ExitStack() as stack:
        indexes: dict[str, Index] = {
            name: stack.enter_context(open_index(folder, config)) for name, folder in config.server.indexes.items()
        }
        pool = stack.enter_context(ThreadPoolExecutor(config.server.threads, "tools"))
        app = create_app(_trusting(config), indexes, ranked_by=rankers.opened(config))
        yield AgentTools(Api(app), indexes, checker, pool).server(), indexes


def _trusting(config: Config) -> Config:
    """Return the configuration for asking within the process: who may ask was looked at before."""
    changes: dict[str, Any] = {"keys": {}, "per_minute": 0, "writes": False, "adapters": {}}
    return msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, **changes))
