"""The tools of agents, asked by the official client: within the process, over a pipe, and over HTTP
with keys.
"""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from factseek import commands
from factseek.server import mcp as serving
from factseek.server.auth import digest, new_key
from factseek.server.mcp import NO_MODEL, WARNING
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.server.conftest import build_index
from tests.server.ending import end

CLAIM = "measles vaccine doses are effective"
NAMES = ["check_claim", "get_document", "list_indexes", "rank_claims", "search"]


def asked(
    config: Config, ask: Callable[[Any], Awaitable[Any]], verdicts: Path | None = None
) -> Any:
    async def run(server: Any) -> Any:
        async with Client(server) as client:
            return await ask(client)

    with serving.open_server(config, verdicts) as (server, _):
        return asyncio.run(run(server))


def called(
    config: Config, name: str, verdicts: Path | None = None, **arguments: Any
) -> dict[str, Any]:
    async def ask(client: Any) -> Any:
        return await client.call_tool(name, arguments)

    result = asked(config, ask, verdicts)
    assert not result.is_error, result.content
    content: dict[str, Any] = result.structured_content
    return content


def test_the_tools_have_typed_schemas(config: Config) -> None:
    async def ask(client: Any) -> Any:
        return (await client.list_tools()).tools, (
            await client.list_resource_templates()
        ).resource_templates

    tools, templates = asked(config, ask)
    assert sorted(tool.name for tool in tools) == NAMES
    assert all(tool.description and tool.output_schema for tool in tools)
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    search = next(tool for tool in tools if tool.name == "search").input_schema
    assert search["required"] == ["query"]
    assert (search["properties"]["k"]["maximum"], search["properties"]["k"]["default"]) == (20, 5)
    assert [template.uri_template for template in templates] == ["factseek://{index}/{+docid}"]


def test_a_search_is_short_and_cites(config: Config) -> None:
    result = called(config, "search", query=CLAIM, k=2)
    assert result["hits"][0]["docid"] == "measles"
    assert result["index"] == "english"
    assert result["hits"][0]["citation"] == (
        "[1] Measles vaccine (who.example.org, 2019-05-02, https://who.example.org/measles)"
    )
    early = called(config, "search", query=CLAIM, as_of="2019", retriever="bm25")
    assert [hit["docid"] for hit in early["hits"]] == ["measles"]


def test_a_search_says_whether_its_hits_are_related(config: Config) -> None:
    close = called(config, "search", query=CLAIM)
    assert (close["related"], close["absent_words"]) == (True, [])
    far = called(config, "search", query="The prime minister raised the minimum wage")
    assert (far["related"], far["absent_words"]) == (False, [])
    checked = called(config, "check_claim", claim="Vaccines contain microchips from Nokia")
    assert checked["evidence"]["absent_words"] == ["microchips", "Nokia"]


def test_a_fact_check_is_cited_with_its_rating(tmp_path: Path) -> None:
    claim = {
        "docid": "1",
        "text": "Masks kill runners.",
        "url": "https://facts.example.org/1",
        "date": "2020-08-01",
        "rating": "False",
        "verdict": "false",
        "publisher": "Facts",
    }
    folder = build_index(tmp_path / "checks", [claim], language="en", dense=False)
    hit = called(
        Config(server=ServerSettings(indexes={"checks": str(folder)})), "search", query="masks"
    )["hits"][0]
    expected = (
        "[1] Fact check (False): “Masks kill runners.”. Facts, 2020-08-01, "
        "https://facts.example.org/1"
    )
    assert hit["citation"] == expected


def test_a_long_passage_without_spaces_is_cut(tmp_path: Path) -> None:
    folder = build_index(
        tmp_path / "long", [{"docid": "long", "text": "漢" * 900}], language="zh", dense=False
    )
    config = Config(server=ServerSettings(indexes={"long": str(folder)}))
    assert called(config, "search", query="漢漢")["hits"][0]["passage"] == f"{'漢' * 600} …"


def test_documents_are_tools_and_resources(config: Config) -> None:
    odd = "pages/2020//a+b?c#نص&d%2F"
    document = called(config, "get_document", docid=odd)
    assert (document["docid"], document["title"]) == (odd, "Odd id")

    async def ask(client: Any) -> Any:
        return (await client.read_resource("factseek://english/measles")).contents[0].text

    assert asked(config, ask).startswith("Measles vaccine\nTwo doses")


def test_indexes_and_ranked_claims(config: Config) -> None:
    indexes = called(config, "list_indexes")["indexes"]
    assert [(entry["name"], entry["language"]) for entry in indexes] == [
        ("english", "en"),
        ("arabic", "ar"),
    ]
    first, second = (entry["retrievers"] for entry in indexes)
    assert first[0] == "hybrid"
    assert {"bm25", "dense"} <= set(first)
    assert "bm25" in second
    texts = ["Good morning!", "Two doses of the measles vaccine are 97 percent effective."]
    ranked = called(config, "rank_claims", texts=texts)
    assert ranked["ranker"] == "tweets"
    assert sorted(entry["text"] for entry in ranked["claims"]) == sorted(texts)
    assert [entry["rank"] for entry in ranked["claims"]] == [1, 2]
    (arabic,) = called(config, "rank_claims", texts=["البطالة انخفضت"])["claims"]
    assert arabic["note"] == "the text is in Arabic, but the ranker learned from en"


def test_a_claim_without_a_model_has_evidence_and_no_verdict(config: Config) -> None:
    checked = called(config, "check_claim", claim=CLAIM, k=1)
    assert (checked["verdict"], checked["probabilities"], checked["warning"]) == (
        None,
        {},
        NO_MODEL,
    )
    assert checked["evidence"] == called(config, "search", query=CLAIM, k=1)


@pytest.mark.real
def test_a_claim_with_a_model_has_a_verdict_and_a_warning(tmp_path: Path, examples: Path) -> None:
    index, model = str(tmp_path / "index"), tmp_path / "model"
    assert (
        commands.main(["index", "fever", str(examples / "fever-pages.jsonl"), "--index", index])
        == 0
    )
    train = [
        "verdict",
        "fever",
        "--train",
        str(examples / "fever-train.jsonl"),
        "--save",
        str(model),
    ]
    assert commands.main([*train, "--index", index]) == 0
    config = Config(server=msgspec.structs.replace(Config().server, indexes={"pages": index}))
    checked = called(
        config,
        "check_claim",
        model,
        claim="Two doses of the measles vaccine are 97 percent effective.",
    )
    assert checked["warning"] == WARNING
    assert sum(checked["probabilities"].values()) == pytest.approx(1)
    assert checked["verdict"] in checked["probabilities"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "search",
            {"query": CLAIM, "index": "french"},
            "there is no index 'french'; the indexes are english, arabic",
        ),
        ("search", {"query": CLAIM, "as_of": "soon"}, "as_of: "),
        (
            "search",
            {"k": 0},
            "query: Field required; k: Input should be greater than or equal to 1",
        ),
        ("get_document", {"docid": "nothing"}, "there is no document 'nothing'"),
        ("search", {"query": CLAIM, "until": "2016"}, "until: there is no such argument"),
        ("search", {"query": CLAIM, "k": True}, "k: Input should be a valid integer"),
        ("search", {"query": CLAIM, "k": False}, "k: Input should be a valid integer"),
        ("search", {"query": CLAIM, "k": "5"}, "k: Input should be a valid integer"),
        ("search", {"query": CLAIM, "k": 5.0}, "k: Input should be a valid integer"),
        ("search", {"query": CLAIM, "k": None}, "k: Input should be a valid integer"),
        ("search", {"query": 5}, "query: Input should be a valid string"),
        ("search", {"query": CLAIM, "index": True}, "index: Input should be a valid string"),
        ("search", {"query": CLAIM, "as_of": 2016}, "as_of: Input should be a valid string"),
        ("search", {"query": CLAIM, "retriever": "null"}, "retriever: "),
        (
            "search",
            {"query": CLAIM, "retriever": ["bm25"]},
            "retriever: Input should be a valid string",
        ),
        ("get_document", {"docid": 7}, "docid: Input should be a valid string"),
        ("check_claim", {"claim": CLAIM, "k": True}, "k: Input should be a valid integer"),
        ("rank_claims", {"texts": "a text"}, "texts: Input should be a valid list"),
        ("rank_claims", {"texts": '["a text"]'}, "texts: Input should be a valid list"),
        ("rank_claims", {"texts": {"a": 1}}, "texts: Input should be a valid list"),
        ("rank_claims", {"texts": [1]}, "texts.0: Input should be a valid string"),
        (
            "rank_claims",
            {"texts": [None] * 900},
            "texts.0: Input should be a valid string; texts.1: ",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(
    config: Config, name: str, arguments: dict[str, Any], message: str
) -> None:
    async def ask(client: Any) -> Any:
        return await client.call_tool(name, arguments)

    result = asked(config, ask)
    assert result.is_error
    assert result.content[0].text.startswith(f"Error executing tool {name}: {message}")
    assert "\n" not in result.content[0].text
    assert len(result.content[0].text) < 400


def refused(config: Config, name: str, **arguments: Any) -> str:
    async def ask(client: Any) -> Any:
        return await client.call_tool(name, arguments)

    result = asked(config, ask)
    assert result.is_error
    message: str = result.content[0].text
    return message.removeprefix(f"Error executing tool {name}: ")


def test_the_limits_of_the_server_hold_for_agents(config: Config) -> None:
    small = msgspec.structs.replace(config.server, max_body_bytes=100)
    limited = msgspec.structs.replace(config, server=small)
    too_large = "the body of the request is larger than this server accepts"
    assert refused(limited, "search", query="a" * 101) == too_large
    assert refused(limited, "rank_claims", texts=["a" * 101]) == too_large
    hasty = msgspec.structs.replace(config.server, search_seconds=1e-6)
    limited = msgspec.structs.replace(config, server=hasty)
    assert refused(limited, "search", query=CLAIM, retriever="bm25").endswith("(1e-06 seconds)")
    assert refused(limited, "rank_claims", texts=["a"]) == (
        "ranking took longer than its time limit (1e-06 seconds); send fewer claims at once"
    )


def test_a_call_is_one_line_in_the_log(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "factseek.access"):
        called(config, "search", query=CLAIM)
        refused(config, "get_document", docid="nothing")
    lines = [record for record in caplog.records if record.name == "factseek.access"]
    expected = [("TOOL", "search", 200), ("TOOL", "get_document", 404)]
    assert [line.args[:3] for line in lines if isinstance(line.args, tuple)] == expected
    assert all("queries" not in line.__dict__["fields"] for line in lines)


def command(config: Config, *options: str) -> list[str]:
    served = [
        word
        for name, folder in config.server.indexes.items()
        for word in ("--index", f"{name}={folder}")
    ]
    return ["-m", "factseek", "mcp", *served, *options]


@contextmanager
def over_http(config: Config, folder: Path, settings: str) -> Iterator[str]:
    path, log = folder / "config.yaml", folder / "log"
    path.write_text(f"server: {{{settings}}}", "utf-8")
    words = command(config, "--http", "--port", "0", "--config", str(path))
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=sink, stderr=sink, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 60
        while not (address := re.search(r" on (http://127\.0\.0\.1:\d+/mcp)\n", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield address[1]
    finally:
        end(process)


def test_over_http_with_a_key(config: Config, tmp_path: Path) -> None:
    import httpx2

    key = new_key()
    with over_http(config, tmp_path, f"keys: {{me: {digest(key)}}}") as address:

        async def run() -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                return await client.call_tool("search", {"query": CLAIM, "k": 1})

        assert asyncio.run(run()).structured_content["hits"][0]["docid"] == "measles"
        refused = httpx2.post(
            address, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, timeout=60
        )
        assert (refused.status_code, refused.json()["error"]) == (401, "unauthorized")
        assert "Bearer" in refused.headers["www-authenticate"]


@pytest.mark.real
def test_what_the_documentation_shows_is_printed(example_folder: Path, root: Path) -> None:
    page = (root / "docs/guides/agents.md").read_text("utf-8")
    (code,), (shown,) = (
        re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S) for kind in ("python", "text")
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=example_folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert ran.stdout == shown
