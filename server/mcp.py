"""The tools for language-model agents: ``factseek mcp``, an MCP server.

Each tool asks the functions that answer the HTTP API, with their checks, limits and notes; only
verdicts have no route. Agents read docstrings.
"""

from __future__ import annotations

import asyncio
import inspect
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from http import HTTPStatus
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedToolError,
)
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from .. import __version__
from ..claims import settings as claims
from ..claims.evidence.sentences import Finder
from ..claims.verdicts import training
from ..claims.verdicts.verdict import TrainedVerdicts
from ..core.deadline import CutOffError, losing_hits
from ..core.domain import Claim, Document
from ..core.errors import ConfigError, QueryError
from ..core.settings import view
from ..core.terminal import say
from ..retrieval.filters import parse_filter
from ..retrieval.search.declared import offered_on
from ..retrieval.search.evidence import Evidence
from ..retrieval.search.index import open_index
from ..retrieval.search.listings import (
    EXAMPLE_SOURCE,
    cited_hit,
    is_example,
    is_fact_check,
    plain_citation,
)
from .api import rankers, routes
from .api.routes import PreparedSearch
from .app import create_app
from .call import Call
from .errors import log_failure, problem_of
from .logs import log_to_stderr
from .mcp_http import PATH, serve_tools
from .mcp_stdio import serve_lines
from .memory import charged_document
from .runtime import IndexRegistry
from .schemas import (
    RankAnswer,
    RankRequest,
    RequestFields,
    SearchAnswer,
    SearchRequest,
    from_json,
    prepare,
)
from .serve import listen, url_of
from .settings import Config

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult

    from ..retrieval.search.index import Index

T = TypeVar("T")
Fields = TypeVar("Fields", bound=RequestFields)
WARNING = (
    "A model made this verdict from retrieved sentences. The verdict is often wrong: read the "
    "evidence, and cite the "
    "sources, not the verdict."
)
NO_MODEL = (
    "No verdict model is served: judge by the evidence, and name the sources of the evidence."
)
_INSTRUCTIONS = (
    "Search these indexes for evidence on a claim. Cite each hit that you use by its citation; "
    "never state more than "
    "the evidence says. An index of fact-checks contains claims with the rating of their "
    "fact-checker."
)
# The maximum number of characters of a passage in an answer; get_document returns the whole text.
_EXCERPT = 600
_MOST_FAULTS = 5  # the maximum number of wrong arguments that a refusal names
_MOST = 20  # the maximum number of hits of an answer, because an agent reads every hit


def _said_of(option: str) -> str:
    description: str = (
        get_type_hints(SearchRequest, include_extras=True)[option].__metadata__[0].description
    )
    return description


Query = Annotated[str, Field(min_length=1, description=_said_of("query"))]
IndexName = Annotated[
    str, Field(description="the name of an index from list_indexes (default: the first)")
]
Hits = Annotated[int, Field(ge=1, le=_MOST, description="the number of hits")]
AsOf = Annotated[str, Field(description=_said_of("as_of"))]
Retriever = Annotated[
    str | None, Field(description="a retriever from list_indexes (default: the first of the index)")
]
_FOR_AGENTS: dict[str, tuple[Any, Any]] = {"k": (Hits, 5), "retriever": (Retriever, None)}
"""The options that have their own bounds or description for agents, with their defaults."""
Texts = Annotated[list[str], Field(min_length=1, description="tweets or sentences")]


class EvidenceHit(BaseModel):
    """A document that matches the query, with its best passage and its citation."""

    citation: str
    docid: str
    title: str
    passage: str
    source: str
    date: str
    url: str
    rating: str = ""
    explanation: str = ""
    score: float


class SearchResult(BaseModel):
    """The hits of a query, best first. Read ``note`` before you use the hits.

    If ``related`` is false, nothing here seems to bear on the query; null means that nobody can
    tell. No document contains ``absent_words``, which are words of the query: the hits may be
    about something else.
    """

    index: str
    hits: list[EvidenceHit]
    note: str
    related: bool | None
    absent_words: list[str]


class WholeDocument(BaseModel):
    """An indexed document with its whole text."""

    index: str
    docid: str
    title: str
    text: str
    source: str
    date: str
    url: str
    metadata: dict[str, Any]


class IndexDescription(BaseModel):
    """An index: its number of documents, its language, and its retrievers, the default first."""

    name: str
    documents: int
    language: str
    retrievers: list[str]


class IndexDescriptions(BaseModel):
    """The indexes that can be searched."""

    indexes: list[IndexDescription]


class CheckedClaim(BaseModel):
    """The evidence on a claim and, if a model is served, the verdict of the model."""

    claim: str
    evidence: SearchResult
    verdict: str | None
    probabilities: dict[str, float]
    abstained: str
    warning: str


class RankedText(BaseModel):
    """A text with its rank and its score."""

    rank: int
    text: str
    score: float
    probability: float | None
    note: str = ""


class RankedTexts(BaseModel):
    """Texts by check-worthiness, highest first."""

    ranker: str
    claims: list[RankedText]
    note: str


class RefusedQuestionError(Exception):
    """The API refused a request.

    The arguments are the message and the HTTP status of the API's answer.
    """


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The tools over served indexes; verdicts come from ``model``, if there is one."""

    serving: IndexRegistry
    model: TrainedVerdicts | None

    def search(self, query: Query, index: IndexName = "", **options: Any) -> SearchResult:
        """Find documents with evidence on a claim, a tweet or a question, best first."""
        name = index or self._first_index()
        given = {option: value for option, value in options.items() if value not in (None, "")}
        body = {"query": query, "highlight": False, **given}

        def ask(call: Call) -> SearchAnswer:
            served = call.serving.named(name)
            return PreparedSearch.of(call, served, self._read(body, SearchRequest)).answer()

        answer = self._ask("search", ask)
        hits = [_hit_of(number, hit, name) for number, hit in enumerate(answer.hits, 1)]
        states = answer.coverage or {}
        late = losing_hits(part for part, state in states.items() if state == "cut off")
        remark = f"{', '.join(late)} took too long, so hits may be missing" if late else ""
        return SearchResult(
            index=name,
            hits=hits,
            note="; ".join(filter(None, (answer.note, remark))),
            related=answer.related,
            absent_words=answer.absent_words,
        )

    def get_document(self, docid: str, index: IndexName = "") -> WholeDocument:
        """Return a document with its whole text, by its docid."""
        name = index or self._first_index()

        def ask(call: Call) -> Document:
            return charged_document(call.memory, call.serving.named(name).index, docid)

        document = self._ask("get_document", ask)
        return WholeDocument(
            index=name,
            docid=document.docid,
            title=document.title,
            text=document.text,
            source=document.source,
            date=document.date,
            url=document.url,
            metadata=dict(document.metadata),
        )

    def list_indexes(self) -> IndexDescriptions:
        """List the indexes that can be searched."""
        answer = self._ask("list_indexes", routes.list_indexes)
        described = [
            IndexDescription(
                name=each.name,
                documents=each.documents,
                language=each.language,
                retrievers=each.retrievers,
            )
            for each in answer.indexes
        ]
        return IndexDescriptions(indexes=described)

    def check_claim(
        self, claim: Query, index: IndexName = "", k: Hits = 5, as_of: AsOf = ""
    ) -> CheckedClaim:
        """Find the evidence on a claim.

        If a model is served, also return its verdict, with a warning.
        """
        evidence, verdict = self.search(claim, index, k=k, as_of=as_of), None
        if self.model is not None:
            where, settings = (
                parse_filter([], as_of=as_of) if as_of else None,
                self.serving.config.verdict,
            )
            searched = self.serving.named(evidence.index).index
            finder = Finder(searched, settings, where, Call(self.serving).limit())
            verifier = self.model.verifier(finder, settings, for_people=True)
            verdict = next(verifier.verify([Claim("claim", claim)]))
        return CheckedClaim(
            claim=claim,
            evidence=evidence,
            verdict=verdict.label if verdict else None,
            probabilities=verdict.probabilities if verdict else {},
            abstained=verdict.abstained if verdict else "",
            warning=WARNING if verdict else NO_MODEL,
        )

    def rank_claims(self, texts: Texts) -> RankedTexts:
        """Rank texts by check-worthiness, the most check-worthy first."""
        claims = [{"id": str(number), "text": text} for number, text in enumerate(texts, 1)]

        def ask(call: Call) -> RankAnswer:
            return rankers.ranked_claims(
                call, self._read({"claims": claims, "words": 0}, RankRequest)
            )

        answer = self._ask("rank_claims", ask)
        ranked = [
            RankedText(
                rank=claim.rank,
                text=claim.text,
                score=claim.score,
                probability=claim.probability,
                note=claim.note,
            )
            for claim in answer.claims
        ]
        return RankedTexts(ranker=answer.ranker, claims=ranked, note=answer.note)

    def document_text(self, index: str, docid: str) -> str:
        """The title and the text of a document."""
        try:
            document = self.get_document(docid, index)
        except RefusedQuestionError as error:
            message, status = error.args
            raise (ResourceNotFoundError if status == HTTPStatus.NOT_FOUND else ResourceError)(
                message
            ) from None
        return f"{document.title}\n{document.text}" if document.title else document.text

    def _first_index(self) -> str:
        return next(iter(self.serving.indexes))

    def _read(self, options: Mapping[str, Any], kind: type[Fields]) -> Fields:
        """Return options as a request of the HTTP API; raise BadInput or RequestEntityTooLarge."""
        body = msgspec.json.encode(options)
        if len(body) > self.serving.config.server.max_body_bytes:
            raise RequestEntityTooLarge
        return from_json(body, kind)

    def _ask(self, tool: str, ask: Callable[[Call], T]) -> T:
        """Return the answer to a call of a tool, and log it; raise RefusedQuestionError with what
        an HTTP client would read.
        """
        call, status = Call(self.serving), HTTPStatus.OK.value
        try:
            return ask(call)
        except Exception as error:  # noqa: BLE001  an agent reads one line; the log has the rest
            problem = problem_of(error, call.request_id)
            log_failure(error, problem)
            status = problem.status
            raise RefusedQuestionError(problem.detail, status) from None
        finally:
            call.log("TOOL", tool, status, call.seconds)


def _hit_of(number: int, hit: Evidence, index: str) -> EvidenceHit:
    """Return the hit at a position, from 1, as an agent reads it."""
    text, rating = hit.passage.text, hit.metadata.get("rating", "")
    source, link = hit.source, hit.url or hit.docid
    if is_example(index, hit.metadata):
        source, link = EXAMPLE_SOURCE, hit.docid
    if is_fact_check(hit.kind, hit.metadata):
        citation = plain_citation(cited_hit(hit, index), link)
    else:
        where = ", ".join(filter(None, (source, hit.date, link)))
        citation = f"{hit.title or hit.docid} ({where})"
    explanation = "" if hit.claim else hit.metadata.get("explanation", "")
    return EvidenceHit(
        citation=f"[{number}] {citation}",
        docid=hit.docid,
        title=hit.title,
        passage=_excerpt(text),
        source=hit.source,
        date=hit.date,
        url=hit.url,
        rating=rating if isinstance(rating, str) else "",
        explanation=_excerpt(explanation) if isinstance(explanation, str) else "",
        score=hit.score,
    )


def _excerpt(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rsplit(' ', 1)[0]} …"


def _with_declared_options(call: Callable[..., T]) -> Callable[..., T]:
    """Return a tool with the declared options of a search in place of its ``**options``."""
    signature = inspect.signature(call, eval_str=True)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]
    for option in offered_on("agents"):
        field = Field(ge=option.least, le=option.most, description=option.description)
        described = Annotated[option.value_type, field]  # type: ignore[name-defined]
        kind, default = _FOR_AGENTS.get(option.name, (described, option.default))
        parameters.append(
            Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        )

    @wraps(call)
    def run(*values: Any, **named: Any) -> T:
        return call(*values, **named)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _in_pool(pool: Executor, call: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """Return a tool that runs ``call`` in a thread of ``pool``, and turns a refusal into one line
    for the agent.
    """

    @wraps(call)
    async def run(*values: Any, **named: Any) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                pool, partial(call, *values, **named)
            )
        except RefusedQuestionError as error:
            raise ToolError(error.args[0]) from None
        except (CutOffError, QueryError) as error:
            raise ToolError(error.what) from None

    return run


class ExactArguments(FuncMetadata):
    """The arguments of a tool, each of exactly the type of its schema: no text and no boolean is
    read as a number.
    """

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as they are. The SDK would read a list from a text."""
        return data


class OneLineServer(MCPServer[Any]):
    """An MCP server that refuses invalid or unknown arguments in one line, with their names."""

    def __init__(self, tools: AgentTools, pool: Executor) -> None:
        listed = (
            _with_declared_options(tools.search),
            tools.get_document,
            tools.list_indexes,
            tools.check_claim,
            tools.rank_claims,
        )
        offered = [Tool.from_function(_in_pool(pool, tool)) for tool in listed]
        for tool in offered:
            arguments = tool.fn_metadata.arg_model
            arguments.model_config["extra"] = "forbid"
            arguments.model_config["strict"] = True
            arguments.model_rebuild(force=True)
            fields = {name: getattr(tool.fn_metadata, name) for name in FuncMetadata.model_fields}
            tool.fn_metadata = ExactArguments(**fields)
            tool.parameters = arguments.model_json_schema(by_alias=True)
        super().__init__(
            "factseek",
            instructions=_INSTRUCTIONS,
            version=__version__,
            log_level="WARNING",
            tools=offered,
            # The list of tools never changes, so a stream of its changes would be idle.
            subscriptions=False,
        )
        # A docid is not a path: a collection may use any characters in it.
        security = ResourceSecurity(exempt_params=frozenset({"docid"}))
        offer = self.resource(
            "factseek://{index}/{+docid}",
            name="document",
            mime_type="text/plain",
            security=security,
        )
        offer(_in_pool(pool, tools.document_text))

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by its name; raise ToolError, in one line, if the tool refuses the
        arguments.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error, UnexpectedToolError) or not isinstance(
                error.__cause__, ValidationError
            ):
                raise
            errors = error.__cause__.errors(include_input=False)
            faults = []
            for fault in errors[:_MOST_FAULTS]:
                unknown = fault["type"] == "extra_forbidden"
                place = ".".join(map(str, fault["loc"]))
                faults.append(
                    f"{place[:80]}: {'there is no such argument' if unknown else fault['msg']}"
                )
            if len(errors) > _MOST_FAULTS:
                faults.append(f"and {len(errors) - _MOST_FAULTS} more")
            raise ToolError(f"Error executing tool {name}: {'; '.join(faults)}") from None


def run(config: Config, verdicts: Path | None, *, http: bool) -> None:
    """Offer the tools on standard input and output until the input ends or, with ``http``, over
    HTTP until a signal.
    """
    settings = config.server
    listener = listen(settings.host, settings.port) if http else None
    log_to_stderr()
    with open_server(config, verdicts) as (server, indexes):
        if listener is None:
            # asyncio then cancels the task at Ctrl-C: an error from within it would be logged.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            asyncio.run(serve_lines(server))
            return
        say(f"factseek offers its tools on {url_of(listener)}{PATH}")
        serve_tools(server, create_app(config, indexes), listener, settings)


@contextmanager
def open_server(
    config: Config, verdicts: Path | None
) -> Iterator[tuple[MCPServer, dict[str, Index]]]:
    """Open the indexes and the model, yield the server with the tools over them, and close them
    afterwards.
    """
    if not config.server.indexes:
        raise ConfigError(
            "there is no index to search: add one under server.indexes, or give --index NAME=DIR"
        )
    model = training.load(verdicts, view(config, claims.Config)) if verdicts else None
    with ExitStack() as stack:
        indexes: dict[str, Index] = {
            name: stack.enter_context(open_index(folder, config))
            for name, folder in config.server.indexes.items()
        }
        pool = stack.enter_context(ThreadPoolExecutor(config.server.threads, "tools"))
        serving = IndexRegistry(config, indexes)
        serving.rankers = rankers.open_rankers(config)
        prepare()
        yield OneLineServer(AgentTools(serving, model), pool), indexes
