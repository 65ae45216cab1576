"""An option of a search is one field and its use: declared, it is offered on every surface."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FIELD = """    turned: Annotated[
        bool, option("the hits in the opposite order", names={"command": "--turned-round"})
    ] = False
    share: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=1)] | None, option("a part of the hits")
    ] = None
    labels: Annotated[tuple[Name, ...] | None, option("names of the hits")] = None
    eager: Annotated[bool, option("eagerness")] = True
    sort: Annotated["""
USE = """

_hits_in_order = Plan.hits


def _turned_hits(self, queries, limit=None, *, further=0):
    hits = _hits_in_order(self, queries, limit, further=further)
    return [ranked[::-1] for ranked in hits] if self.search.turned else hits


Plan.hits = _turned_hits
"""
ASK = """
import asyncio, contextlib, io, json, sys
from concurrent.futures import ThreadPoolExecutor

from factseek import commands, open_index
from factseek.server.app import create_app
from factseek.server.mcp import AgentTools, OneLineServer
from factseek.settings import Config

folder = sys.argv[1]
words = ["search", "measles vaccine", "--index", folder, "--retriever", "bm25"]
asked = {"query": "measles vaccine", "retriever": "bm25"}
seen = {}


def docids(hits):
    return [hit["docid"] for hit in hits]


def command(*further):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert commands.main([*words, "--json", *further]) == 0
    return docids(json.loads(out.getvalue())["hits"])


with contextlib.redirect_stderr(io.StringIO()) as err:
    assert commands.main([*words, "--share", "2"]) == 2
seen["refused"] = err.getvalue()
seen["help"] = commands.commands_of(commands.parser())["search"].format_help()
seen["command"] = command(), command("--turned-round")
with open_index(folder) as index:
    client = create_app(Config(), {"english": index}).test_client()

    def post(**options):
        return client.post("/v1/english/search", json={**asked, **options})

    seen["body"] = docids(post().json["hits"]), docids(post(turned=True).json["hits"])
    seen["wrong"] = post(turned="no").json["field"]
    cursor = post(k=1).json["cursor"]
    seen["cursor"] = post(k=1, cursor=cursor, turned=True).json["field"]
    address = "/v1/english/search?query=measles+vaccine&retriever=bm25&turned=true"
    seen["query"] = docids(client.get(address).json["hits"])
    described = client.get("/openapi.json").json
    seen["schema"] = described["components"]["schemas"]["SearchRequest"]["properties"]["turned"]
    parameters = described["paths"]["/v1/{index}/search"]["get"]["parameters"]
    seen["parameters"] = [each["name"] for each in parameters]
    page = "/?index=english&query=measles+vaccine&retriever=bm25"
    seen["form"] = client.get(page).text
    seen["page"] = client.get(page + "&turned=true").text
    further = "&share=0.5&labels=a&labels=b&eager=false"
    seen["choices"] = client.get(page + further).text
    seen["over"] = client.get(page + "&share=2").status_code
    with ThreadPoolExecutor(1) as pool:
        tools = asyncio.run(OneLineServer(AgentTools(None, None), pool).list_tools())
    seen["tool"] = next(tool for tool in tools if tool.name == "search").input_schema
    if "langchain" in sys.argv:
        from factseek.integrations.langchain import FactseekRetriever

        retriever = FactseekRetriever(index=folder, retriever="bm25")
        chains = retriever.invoke(asked["query"]), retriever.invoke(asked["query"], turned=True)
        seen["chain"] = [[found.id for found in chain] for chain in chains]
print(json.dumps(seen))
"""


def tree_with_the_option(root: Path, folder: Path) -> Path:
    """Return a folder with the package and the option: links, but for the two changed files."""
    changed = {"retrieval/search/options.py", "retrieval/search/plan.py"}
    for place in ("", "retrieval", "retrieval/search"):
        made = folder / "factseek" / place
        made.mkdir(parents=True)
        for path in (root / place).iterdir():
            name = f"{place}/{path.name}".lstrip("/")
            if name not in {"retrieval", "retrieval/search", *changed} and path.name[0] != ".":
                (made / path.name).symlink_to(path)
    options, plan = ((root / name).read_text("utf-8") for name in sorted(changed))
    assert options.count("    sort: Annotated[") == 1
    search = folder / "factseek" / "retrieval" / "search"
    (search / "options.py").write_text(options.replace("    sort: Annotated[", FIELD), "utf-8")
    (search / "plan.py").write_text(plan + USE, "utf-8")
    return folder


@pytest.fixture(scope="module")
def seen(
    root: Path, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return what each surface of the package with the option offers and answers."""
    tree = tree_with_the_option(root, tmp_path_factory.mktemp("tree"))
    libraries = ["langchain"] if importlib.util.find_spec("langchain_core") else []
    done = subprocess.run(
        [sys.executable, "-c", ASK, folders["english"], *libraries],
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "100"},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_the_command_line_has_it(seen: dict[str, Any]) -> None:
    assert "--turned-round  " in seen["help"]
    assert "the hits in the opposite order" in seen["help"]
    plain, turned = seen["command"]
    assert len(plain) > 1
    assert turned == plain[::-1]


def test_the_command_line_checks_numbers_and_turns_off_what_is_on(seen: dict[str, Any]) -> None:
    assert seen["refused"].startswith("factseek: --share 2.0: give a number, 0 to 1")
    assert "--labels NAME " in seen["help"]
    assert "--no-eager " in seen["help"]


def test_bodies_and_query_strings_have_it(seen: dict[str, Any]) -> None:
    plain, turned = seen["body"]
    assert len(plain) > 1
    assert turned == plain[::-1] == seen["query"]
    assert seen["wrong"] == "turned"
    assert seen["schema"] == {
        "description": "the hits in the opposite order",
        "type": "boolean",
        "default": False,
    }
    assert "turned" in seen["parameters"]


def test_a_cursor_belongs_to_the_list_that_it_makes(seen: dict[str, Any]) -> None:
    assert seen["cursor"] == "cursor"


def test_the_page_has_it_in_its_form_and_its_address(seen: dict[str, Any]) -> None:
    box = '<input type="checkbox" name="turned" value="true"'
    assert f"{box}> the hits in the opposite order" in seen["form"]
    assert f"{box} checked>" in seen["page"]
    assert "turned=true&amp;" in seen["page"] or "&amp;turned=true" in seen["page"]
    assert "turned=true" not in seen["form"]


def test_the_page_keeps_lists_numbers_and_what_is_turned_off(seen: dict[str, Any]) -> None:
    page = seen["choices"]
    assert '<input name="share" type="number" value="0.5"' in page
    assert page.count('<input name="labels" type="text"') == 3  # two, and an empty one
    assert '<option value="false" selected>' in page
    assert "share=0.5&amp;labels=a&amp;labels=b&amp;eager=false" in page
    for chip in ("labels a", "labels b", "share 0.5", "eager false"):
        assert f"Remove “{chip}”" in page
    assert seen["over"] == 400


def test_the_tools_of_agents_have_it(seen: dict[str, Any]) -> None:
    described = seen["tool"]["properties"]["turned"]
    assert (described["type"], described["default"]) == ("boolean", False)
    assert described["description"] == "the hits in the opposite order"
    share = seen["tool"]["properties"]["share"]["anyOf"][0]
    assert (share["minimum"], share["maximum"]) == (0, 1)


def test_integrations_have_it(seen: dict[str, Any]) -> None:
    if "chain" not in seen:
        pytest.skip("langchain_core is not installed")
    plain, turned = seen["chain"]
    assert len(plain) > 1
    assert turned == plain[::-1]
