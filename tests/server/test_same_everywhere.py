"""One search has one answer: the same docids and scores from Python, the command line, HTTP, the
page and agents.
"""

import asyncio
import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mcp import Client

import factseek
from factseek import commands
from factseek.core.errors import QueryError
from factseek.integrations._choices import parse_choices
from factseek.integrations._source import open_source
from factseek.retrieval import retrievers
from factseek.retrieval.search.answer import Question
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server import mcp
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config

from .conftest import ENGLISH

K = 6
WORDS = [
    "measles",
    "vaccine",
    "moon",
    "cafe\u0301",
    "caf\u00e9",
    "麻疹疫苗",
    "ワクチン",
    "الحصبة",
    "x",
    "97",
    "don't",
]
SIGNS = [
    '"',
    "“",
    "”",
    "'",
    "’",
    ":",
    "source:who.example.org",
    "title:moon",
    "before:2020",
    "-",
    "-moon",
    "\u2212",
    "\t",
    " ",
    "\n",
    "\u00a0",
    "\u3000",
    "\u200f",
    "\u202a",
    "\u2066",
    "\ufeff",
    "&amp;",
    "&#39;",
    "%20",
    "%C3%A9",
    "+",
    "\\",
    "/",
    "*",
    "?",
    "!",
    "#Measles",
    "@who",
    "<b>",
    "{",
    "}",
    "\x00",
    "ﬁ",
    "😀",
    ";",
    "=",
    "&",
    "\u0301",
]
QUERIES = st.lists(
    st.sampled_from(WORDS) | st.sampled_from(SIGNS) | st.characters(codec="utf-8"), max_size=7
).map(lambda parts: " ".join(parts[:3]) + "".join(parts[3:]))
DOCUMENTS = [
    *ENGLISH,
    {"docid": "cjk", "text": "麻疹疫苗很有效。 ワクチン は安全です。"},
    {
        "docid": "accents",
        "text": "The café sells naïve coffee; the cafe\u0301 across the road, too.",
    },
    {"docid": "arabic", "text": "لقاح الحصبة آمن"},
    *({"docid": f"tie{n}", "text": "Measles, moon and vaccine: x x 97."} for n in range(4)),
]
Hits = list[tuple[str, float]] | None
"""Docids with scores as float32, best first; None where the query is refused."""


class Places(NamedTuple):
    folder: Path
    index: Index
    shards: Index
    client: FlaskClient
    ask_agent: Callable[..., Hits]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    root = tmp_path_factory.mktemp("same")
    source = root / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS), "utf-8")
    folder, shards = root / "index", root / "shards"
    factseek.build("jsonl", [source], folder)
    factseek.build("jsonl", [source], shards, shards=2)
    config = Config(
        server=ServerSettings(
            indexes={"one": str(folder)},
            adapters=dict.fromkeys(["pyserini-1", "pyserini-2", "search-r1", "routir"], ""),
        )
    )
    with (
        Index(folder) as index,
        factseek.open_index(shards) as parts,
        mcp.open_server(config, None) as (server, _),
        asyncio.Runner() as runner,
    ):

        def ask_agent(**arguments: Any) -> Hits:
            async def call() -> Any:
                async with Client(server) as client:
                    return await client.call_tool("search", arguments)

            result = runner.run(call())
            return None if result.is_error else hits_of(result.structured_content["hits"])

        yield Places(
            folder, index, parts, create_app(config, {"one": index}).test_client(), ask_agent
        )


def hits_of(hits: list[dict[str, Any]]) -> Hits:
    return [(hit["docid"], float(np.float32(hit["score"]))) for hit in hits]


def answered(response: Any, hits: Callable[[Any], Any] = lambda body: body["hits"]) -> Hits:
    if response.status_code in (400, 422):
        return None
    assert response.status_code == 200, response.text
    return hits_of(hits(response.json))


def in_python(index: Index, query: str, retriever: str, syntax: str = "plain") -> Hits:
    try:
        ranked = index.answer(
            Question(query, Search(k=K, retriever=retriever), syntax=syntax)
        ).ranked  # type: ignore[arg-type]
    except QueryError:
        return None
    return [(hit.docid, float(np.float32(hit.score))) for hit in ranked]


def on_the_command_line(folder: Path, query: str, *options: str) -> Hits:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        code = commands.main(
            ["search", "--index", str(folder), "-k", str(K), "--json", *options, "--", query]
        )
    assert code in (0, 2)
    return hits_of(json.loads(printed.getvalue())["hits"]) if code == 0 else None


def everywhere(places: Places, query: str, retriever: str) -> Mapping[str, Hits]:
    client, asked = places.client, {"query": query, "retriever": retriever}
    batch = client.post(
        "/v1/one/search/batch",
        json={"queries": [{"qid": "1", "text": query}], "k": K, "retriever": retriever},
    )
    (result,) = batch.json["results"]  # type: ignore[index]
    found = {
        "search": _searched(places.index, query, retriever),
        "shards": in_python(places.shards, query, retriever),  # type: ignore[arg-type]
        "command": on_the_command_line(places.folder, query, "--retriever", retriever),
        "GET": answered(client.get("/v1/one/search", query_string={**asked, "hits": K})),
        "POST": answered(client.post("/v1/one/search", json={**asked, "k": K})),
        "batch": hits_of(result["hits"]) if "hits" in result else None,
        "agent": places.ask_agent(query=query, k=K, retriever=retriever),
        "routir": answered(
            client.post(
                "/routir/search", json={"service": f"one/{retriever}", "query": query, "limit": K}
            ),
            lambda body: [
                {"docid": docid, "score": score} for docid, score in body["scores"].items()
            ],
        ),
    }
    if retriever == "hybrid":  # the default, which these cannot choose
        found |= {
            "pyserini-1": answered(
                client.post("/pyserini-1/v1/indexes/one/search", json={"query": query, "hits": K}),
                lambda body: body["candidates"],
            ),
            "pyserini-2": answered(
                client.get("/pyserini-2/v1/one/search", query_string={"query": query, "hits": K}),
                lambda body: body["candidates"],
            ),
        }
        (run,) = client.post(
            "/search-r1/retrieve", json={"queries": [query], "topk": K, "return_scores": True}
        ).json["result"]  # type: ignore[index]
        found["search-r1"] = (
            hits_of([{"docid": hit["document"]["id"], "score": hit["score"]} for hit in run])
            or None
        )
    return found


def _searched(index: Index, query: str, retriever: str) -> Hits:
    try:
        (hits,) = index.search([query], Search(k=K, retriever=retriever))
    except QueryError:
        return None
    return [(hit.docid, float(np.float32(hit.score))) for hit in hits]


# The index has no impacts.
SERVED = [name for name in retrievers.names() if name != "impact"]


@pytest.mark.parametrize("retriever", SERVED)
@settings(
    max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@example('measles "vaccine" -moon source:x')
@example("cafe\u0301 \u200f麻疹疫苗\tmoon")
@example("-moon")
@example("")
@example("\ufeffmeasles\x00moon")
@given(query=QUERIES)
def test_a_search_has_one_answer(places: Places, retriever: str, query: str) -> None:
    expected = in_python(places.index, query, retriever)
    found = everywhere(places, query, retriever)
    assert {name: hits for name, hits in found.items() if hits != expected} == {}, (query, expected)


@settings(
    max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@example('measles "measles vaccine" -moon')
@example("title:moon")
@given(query=QUERIES)
def test_a_query_of_the_query_language_has_one_answer(places: Places, query: str) -> None:
    client, expected = places.client, in_python(places.index, query, "hybrid", "query")
    shown = {"query": query, "hits": str(K), "collapse": "none"}
    found = {
        "command": on_the_command_line(places.folder, query, "--syntax", "query"),
        "GET": answered(
            client.get(
                "/v1/one/search", query_string={"query": query, "hits": K, "syntax": "query"}
            )
        ),
        "POST": answered(
            client.post("/v1/one/search", json={"query": query, "k": K, "syntax": "query"})
        ),
        "export": answered(client.get("/export", query_string={**shown, "format": "json"})),
    }
    assert {name: hits for name, hits in found.items() if hits != expected} == {}, (query, expected)
    page = client.get("/", query_string=shown).text
    cards = re.findall(r'<li id="hybrid-\d+".*?/documents/one/([^?"&]+)', page, re.DOTALL)
    assert list(map(unquote, cards)) == [docid for docid, _ in expected or ()]


@settings(
    max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(query=QUERIES)
def test_integrations_answer_what_the_index_answers(places: Places, query: str) -> None:
    (ranking,) = open_source(str(places.folder)).columns(
        [query], parse_choices(K, {"retriever": "bm25"})
    )
    expected = in_python(places.index, query, "bm25") or []
    assert (
        list(zip(ranking.docids, map(float, np.float32(ranking.scores)), strict=True)) == expected
    )
