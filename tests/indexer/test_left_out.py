"""Documents left out are named: on standard error the first of it, in the report all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config

PAGE = "<html><body><article><h1>A bridge</h1><p>The new bridge will be opened to all traffic in spring.</p></article>"
MENU = "<html><body><nav><img src='a.png'></nav></body></html>"


def pages(folder: Path, menus: int) -> Path:
    folder.mkdir()
    (folder / "page.html").write_text(PAGE, "utf-8")
    for number in range(menus):
        (folder / f"menu-{number:02d}.html").write_text(MENU, "utf-8")
    return folder


def test_the_report_names_all(tmp_path: Path) -> None:
    folder = pages(tmp_path / "pages", 12)
    request = BuildRequest(kind="webpages", sources=(folder,), folder=tmp_path / "index", dense=False)
    report = build(request, Config())
    assert report.skipped == {"no main content": 12}
    assert report.left_out == tuple((str(folder / f"menu-{n:02d}.html"), "no main content") for n in range(12))


def test_the_command_names_the_first(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    folder = pages(tmp_path / "pages", 12)
    code, _, err = command("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense")
    named = [f"  {folder / f'menu-{n:02d}.html'}" for n in range(10)]
    assert (code, err.splitlines()) == (0, ["left out: 12 no main content", *named, "  and 2 more"])


def test_dates_that_are_not_understood_are_noted(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    source = tmp_path / "a.csv"
    source.write_text("id;text;date\n1;a;3/14/2020\n2;b;14.3.2020\n3;c;yesterday\n")
    indexed = ("index", "snippets", source, "--index", tmp_path / "index", "--no-dense")
    code, _, err = command(*indexed)
    example = f"such as '3/14/2020' ({source}:2); write YYYY-MM-DD to filter by it"
    assert (code, err) == (0, f"note: 2 dates are not understood, {example}\n")
    code, out, _ = command(*indexed, "--overwrite", "--json")
    assert (code, json.loads(out)["unread_dates"]) == (0, 2)


def test_json_lists_all(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    folder = pages(tmp_path / "pages", 12)
    _, out, _ = command("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense", "--json")
    facts = json.loads(out)
    assert facts["left_out"] == {"no main content": 12}
    assert facts["left_out_names"] == {"no main content": [str(folder / f"menu-{n:02d}.html") for n in range(12)]}
