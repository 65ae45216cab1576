"""Every integration says what it needs, is an extra with a section and a test, and is imported by its users alone."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = sorted(
    path for path in (Path(__file__).resolve().parents[2] / "integrations").glob("[a-z]*.py") if path.stem[0] != "_"
)


def constants(path: Path) -> dict[str, str]:
    """Return the names of text that a module defines, without importing it."""
    pairs = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign)]
    return {
        ast.unparse(node.targets[0]): node.value.value
        for node in pairs
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def test_there_are_some() -> None:
    assert {path.stem for path in MODULES} >= {"haystack", "ir_datasets", "langchain", "llama_index", "pyterrier"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_an_integration_is_an_extra_with_a_section_and_a_test(path: Path, root: Path) -> None:
    names = constants(path)
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    extras = setup["options.extras_require"]
    needed = extras[names["EXTRA"]].split("\n")
    assert set(needed) <= set(extras["integrations"].split("\n"))
    page = (root / "docs" / "guides" / "integrations.md").read_text("utf-8")
    assert f"`pip install 'factseek[{names['EXTRA']}]'`" in page
    assert f"from factseek.integrations.{path.stem} import" in page or f"integrations import {path.stem}" in page
    assert (root / "tests" / "integrations" / f"test_{path.stem}.py").is_file()


def test_what_all_of_them_share_imports_none_of_their_libraries() -> None:
    libraries = [constants(path)["LIBRARY"] for path in MODULES]
    script = (
        "import sys, factseek.api, factseek.integrations._stand_ins, factseek.integrations._irds;"
        "from factseek.integrations._source import open_source; open_source('x'); open_source('http://h/v1/x');"
        f"print([name for name in {libraries!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
