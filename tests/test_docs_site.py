"""The documentation site: built without a warning, whole by itself, and its reference says what is
there.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import factseek
from factseek import commands

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?(?P<src>[^"'\s>]+)"""
    r"""|<link\b[^>]*?\bhref=["']?(?P<href>[^"'\s>]+)"""
    r"""|url\(["']?(?P<url>[^"')]+)|@import\s+["'](?P<import>[^"']+)"""
)


def script(root: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, root / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference(root: Path) -> ModuleType:
    return script(root, "reference")


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Path(sys.executable).with_name("zensical").exists():
        pytest.skip("zensical is not installed: factseek[docs]")
    project = tmp_path_factory.mktemp("project")
    for name in ("docs", "examples", "packaging"):
        shutil.copytree(root / name, project / name)
    for path in (*root.glob("*.md"), *root.glob("*.yaml"), root / "LICENSE", root / "Dockerfile"):
        shutil.copy2(path, project / path.name)
    command = [sys.executable, str(project / "docs" / "build_site.py"), str(project / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "site"


def loads(text: str) -> list[str]:
    return [next(filter(None, found.groups())) for found in LOADED.finditer(text)]


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".svg")]
    assert len(pages) > 20
    for path in pages:
        for place in loads(path.read_text("utf-8")):
            assert not re.match(r"(\w+:)?//", place), f"{path.relative_to(site)} loads {place}"


def test_every_page_of_the_folder_is_in_the_site(site: Path, root: Path) -> None:
    settings = (root / "docs" / "mkdocs.yml").read_text("utf-8")
    for path in (root / "docs").rglob("*.md"):
        page = path.relative_to(root / "docs")
        assert (site / page).with_suffix(".html").exists(), page
        assert f": {page}\n" in settings, f"{page} is not in the navigation"


def test_every_command_is_described(reference: ModuleType) -> None:
    names = commands.commands_of(commands.parser())
    assert {"index", "search", "serve", "run", "score", "rank", "verdict"} <= names.keys()
    page = reference.command_page()
    assert all(f"\n## factseek {name}\n" in page for name in names)


def test_every_setting_is_described(reference: ModuleType, root: Path) -> None:
    text = (root / "config.yaml").read_text("utf-8")
    settings = {name: (default, meaning) for name, default, meaning in reference.settings(text)}
    assert settings["search.k"] == ("10", "hits")
    assert settings["encoder.languages"][0] == "[]"
    page = reference.configuration_page(text)
    assert all(f"`{name}`" in page or f"\n## {name}\n" in page for name in settings)


def test_every_address_and_its_types_are_described(reference: ModuleType) -> None:
    page = reference.http_page()
    assert "## POST /v1/{index}/search\n" in page
    anchors = {name.lower() for name in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= anchors


def test_every_name_of_the_api_is_described(reference: ModuleType) -> None:
    page = reference.python_page()
    assert all(f"\n## {name}\n" in page for name in factseek.__all__ if not name.startswith("_"))
    assert not re.search(r"ForwardRef|:\w+:`|[^`]``\w", page)
