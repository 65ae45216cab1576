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


def test_json_lists_all(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    folder = pages(tmp_path / "pages", 12)
    _, out, _ = command("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense", "--json")
    facts = json.loads(out)
    assert facts["left_out"] == {"no main content": 12}
    assert facts["left_out_names"] == {"no main content": [str(folder / f"menu-{n:02d}.html") for n in range(12)]}
