"""The shape of the project: what is installed, what nothing may do. Who imports whom is checked by import-linter."""

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ("retrieval", "indexer", "server", "eval", "claims", "cluster", "integrations")


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


def test_every_dependency_has_a_bound_a_tested_version_and_a_reason(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    tested = {
        line.split("==")[0].lower().replace("_", "-") for line in (root / "constraints.txt").read_text().splitlines()
    }
    reasons = (root / "docs/dependencies.md").read_text("utf-8").lower()
    needed = "\n".join([setup["options"]["install_requires"], *setup["options.extras_require"].values()])
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
