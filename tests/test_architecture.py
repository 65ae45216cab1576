"""The shape of the project: what is installed, what nothing may do.

Who imports whom is checked by import-linter.
"""

import configparser
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

PACKAGES = ("core", "retrieval", "indexer", "server", "eval", "claims", "cluster", "integrations")


def test_packages_are_listed(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    listed = set(setup["options"]["packages"].split())
    there = {
        "factseek." + ".".join(path.relative_to(root).parts[:-1])
        for package in PACKAGES
        for path in (root / package).rglob("__init__.py")
    }
    assert listed == {"factseek"} | there


@pytest.mark.parametrize("word", ["/work/", "/root/", "pypi.org", "files.pythonhosted"])
def test_the_project_speaks_of_itself_alone(root: Path, word: str) -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False
    ).stdout
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
        "haystack",
        "ir_datasets",
        "langchain_core",
        "llama_index",
        "pyterrier",
    ]
    script = "import sys; from factseek import commands; commands.parser(); "
    script += f"print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_no_module_imports_itself_over_others() -> None:
    graph = grimp.build_graph("factseek", cache_dir=None, exclude_type_checking_imports=True)
    imported = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
        if not module.startswith(("factseek.tests", "factseek.benchmarks"))
    }
    TopologicalSorter(imported).prepare()  # it raises CycleError, which names the circle
