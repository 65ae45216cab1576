"""One name, ``factseek``, wherever the code lies: no file of a user is imported, whatever its
name.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from factseek.server.auth import digest
from tests.server.ending import end
from tests.server.served import Served

OURS = (
    "api benchmarks claims cluster commands config eval examples indexer integrations retrieval "
    "server settings"
).split()
PYTHONS = (
    "argparse array ast asyncio base64 bisect calendar collections concurrent contextlib copy csv "
    "ctypes dataclasses "
    "datetime decimal difflib email enum fractions functools gzip hashlib heapq hmac html http "
    "importlib inspect "
    "itertools json logging lzma math mimetypes multiprocessing numbers operator optparse pathlib "
    "pickle platform "
    "pprint queue random re secrets select shlex shutil signal socket sqlite3 statistics string "
    "struct subprocess "
    "tempfile textwrap threading timeit token tokenize traceback types typing unicodedata unittest "
    "urllib uuid "
    "warnings weakref xml zipfile"
).split()
LIBRARIES = (
    "faiss flask gunicorn jinja2 jnius msgspec numpy onnxruntime orjson scipy tokenizers torch "
    "tqdm yaml"
).split()
KEY = "fs_a-key-of-the-tests"
WALK = """
import importlib, pkgutil, sys, factseek
names = [module.name for module in pkgutil.walk_packages(factseek.__path__, "factseek.")]
skipped = (
    "factseek.tests", "factseek.benchmarks", "factseek.docs", "factseek.examples", "factseek.build"
)
names = [name for name in names if not name.startswith(skipped) and not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names), factseek.__file__)
"""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder where every name that this program imports is a file that must not be imported."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in (*OURS, *PYTHONS, *LIBRARIES):
        (folder / f"{name}.py").write_text(
            f"raise SystemExit('{name}.py of the current folder was imported')\n"
        )
    return folder


def ran(words: list[str], folder: Path, **environment: str) -> str:
    without = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONSAFEPATH")
    }
    done = subprocess.run(
        words,
        cwd=folder,
        env=without | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def python(*words: str) -> list[str]:
    return [sys.executable, *words]


@pytest.mark.parametrize(
    "module", ["factseek", "factseek.indexer", "factseek.server", "factseek.eval"]
)
def test_python_m_imports_nothing_from_the_current_folder(trap: Path, module: str) -> None:
    assert ran(python("-m", module, "--help"), trap).startswith("usage: ")


@pytest.mark.deep
def test_children_import_nothing_from_the_current_folder(trap: Path, root: Path) -> None:
    (trap / "config.yaml").write_text(
        f"encoder: {{cache: cache}}\nserver: {{keys: {{me: {digest(KEY)}}}, indexes: {{mine: "
        f"index}}}}\n"
    )
    factseek = python("-m", "factseek")
    ran(
        [
            *factseek,
            "index",
            "snippets",
            str(root / "examples/snippets-en.tsv"),
            "--index",
            "index",
        ],
        trap,
    )
    assert any((trap / "cache").rglob("model.onnx"))
    files = [
        "--queries",
        str(root / "examples/queries-en.tsv"),
        "--qrels",
        str(root / "examples/qrels-en.txt"),
    ]
    bench = [
        "bench",
        "--index",
        "index",
        *files,
        "--retrievers",
        "bm25",
        "--timed",
        "20",
        "--output",
        "bench",
    ]
    ran([*factseek, *bench], trap)
    log = trap / "server.log"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [*factseek, "serve", "--port", "0", "--workers", "1", "--allow-writes"]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            words, cwd=trap, env=environment, stderr=sink, start_new_session=True
        )
    try:
        address = f"http://127.0.0.1:{Served(process, log).port}/v1/mine/documents/emu"
        put = Request(address, json.dumps({"text": "Emus run."}).encode(), method="PUT")
        put.add_header("Authorization", f"Bearer {KEY}")
        put.add_header("Content-Type", "application/json")
        with urlopen(put, timeout=60) as response:
            assert json.load(response)["result"] == "created"
    finally:
        end(process)


def installer(environment: Path) -> list[str]:
    beside = Path(sys.executable).with_name("uv")
    for uv in (shutil.which("uv"), str(beside)):
        if uv and Path(uv).exists():
            return [
                uv,
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--python",
                str(environment / "bin/python"),
            ]
    if subprocess.run(
        python("-m", "pip", "--version"), capture_output=True, check=False
    ).returncode:
        pytest.skip("there is neither uv nor pip")
    return python(
        "-m", "pip", "--python", str(environment / "bin/python"), "install", "--quiet", "--no-deps"
    )


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment that has what factseek needs, but not factseek."""
    folder = tmp_path / "environment"
    ran(python("-m", "venv", "--without-pip", "--symlinks", str(folder)), tmp_path)
    site = next(folder.glob("lib/python*/site-packages"))
    # A folder that a .pth file names is not searched for further ones: this tree's own installation
    # is not seen.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    missing = subprocess.run(
        [str(folder / "bin/python"), "-c", "import factseek"], cwd=tmp_path, check=False
    )
    assert missing.returncode != 0
    return folder


def checkout(root: Path, folder: Path) -> Path:
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    return folder


def assert_works(environment: Path, trap: Path, root: Path) -> str:
    count, place = ran([str(environment / "bin/python"), "-P", "-c", WALK], trap).split()
    assert int(count) > 200
    factseek = str(environment / "bin/factseek")
    source = str(root / "examples/snippets-en.tsv")
    ran([factseek, "index", "snippets", source, "--index", "index", "--no-dense"], trap)
    hits = json.loads(
        ran([factseek, "search", "smallpox was eradicated", "--index", "index", "--json"], trap)
    )["hits"]
    assert hits[0]["docid"] == "EX-EN-01-0007-001"
    return place


@pytest.fixture(scope="module")
def distributions(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("distributions")
    source = checkout(root, folder / "source")
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not Path(uv).exists():
        pytest.skip("there is no uv to build with")
    ran([uv, "build", "--quiet", "--out-dir", str(folder), str(source)], folder)
    yield folder


@pytest.mark.real
@pytest.mark.parametrize("kind", ["*.whl", pytest.param("*.tar.gz", marks=pytest.mark.deep)])
def test_a_distribution_works(
    kind: str, distributions: Path, environment: Path, trap: Path, root: Path
) -> None:
    ran([*installer(environment), str(next(distributions.glob(kind)))], trap.parent)
    place = assert_works(environment, trap, root)
    assert Path(place).is_relative_to(environment)


@pytest.mark.real
def test_the_wheel_holds_the_package_alone(distributions: Path, root: Path) -> None:
    names = zipfile.ZipFile(next(distributions.glob("*.whl"))).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"factseek"}
    inside = {name.split("/")[1] for name in names if name.startswith("factseek/")}
    assert not inside & {"tests", "benchmarks", "docs", "examples", ".ci"}
    there = (path for path in root.glob("server/page/*/*") if path.parent.name != "__pycache__")
    tracked = {path.relative_to(root).as_posix() for path in there}
    assert {f"factseek/{name}" for name in tracked | {"py.typed"}} <= set(names)


@pytest.mark.deep
def test_a_checkout_that_is_not_installed_is_found_by_its_parent(
    environment: Path, root: Path, tmp_path: Path
) -> None:
    source = checkout(root, tmp_path / "factseek")
    interpreter = str(environment / "bin/python")
    count, place = ran(
        [interpreter, "-c", WALK], tmp_path / "environment", PYTHONPATH=str(tmp_path)
    ).split()
    assert int(count) > 200
    assert Path(place) == source / "__init__.py"
    outside, source_file = tmp_path / "outside", str(root / "examples/snippets-en.tsv")
    outside.mkdir()
    index = ["-m", "factseek", "index", "snippets", source_file, "--index", "index", "--no-dense"]
    assert "added 38 documents" in ran([interpreter, *index], outside, PYTHONPATH=str(tmp_path))
    # From the folder that holds it, without PYTHONPATH: there it is found, and what lies beside it
    # is not imported.
    (tmp_path / "json.py").write_text("raise SystemExit('imported')\n")
    assert ran([interpreter, "-m", "factseek", "--version"], tmp_path).startswith("factseek ")
