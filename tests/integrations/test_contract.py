"""Every integration says what it needs, is an extra with a section and a test, and is imported by
its users alone.
"""

import ast
import configparser
from pathlib import Path

import pytest

MODULES = sorted(
    path
    for path in (Path(__file__).resolve().parents[2] / "integrations").glob("[a-z]*.py")
    if path.stem[0] != "_"
)


def constants(path: Path) -> dict[str, str]:
    pairs = [
        node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign)
    ]
    return {
        ast.unparse(node.targets[0]): node.value.value
        for node in pairs
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


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
    assert (
        f"from factseek.integrations.{path.stem} import" in page
        or f"integrations import {path.stem}" in page
    )
    assert (root / "tests" / "integrations" / f"test_{path.stem}.py").is_file()
