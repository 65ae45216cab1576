"""Fixtures and settings of all tests."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from factseek import commands
from factseek.core.errors import MachineError
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.cache import ensure_export
from factseek.retrieval.encoders.runtime import for_onnx
from factseek.retrieval.encoders.sources import ENGLISH

if TYPE_CHECKING:
    from selenium import webdriver

# How long an example takes says nothing about what is tested; continuous integration tries the same
# ones each time.
settings.register_profile(
    "factseek",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=int(os.environ.get("FACTSEEK_EXAMPLES", "40")),
)
settings.load_profile("factseek")

# Commands are tested as most will run them: what is written waits in a buffer unless the command
# sends it.
os.environ.pop("PYTHONUNBUFFERED", None)

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """Let a run that is told to stop end what its tests have started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def exported_encoder() -> None:
    """Export the embedded encoder where nothing is kept yet: who does it first is told so where it
    takes long.
    """
    if os.environ.get("CI"):
        with suppress(MachineError):
            ensure_export(for_onnx(EncoderSettings(model=ENGLISH)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the project."""
    return ROOT


@pytest.fixture(scope="session")
def examples(root: Path) -> Path:
    """The bundled example."""
    return root / "examples"


def overriding(usual: Sequence[object], given: Sequence[object]) -> list[object]:
    """Return the arguments ``given`` after those ``usual`` options, each with one value, that they
    do not name.
    """
    named = {argument for argument in given if str(argument).startswith("-")}
    pairs = list(zip(usual[::2], usual[1::2], strict=True))
    return [
        part for option, value in pairs if option not in named for part in (option, value)
    ] + list(given)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run factseek; return exit code, standard output and standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = commands.main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    """A browser without a window."""
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip(
            "there is no chromium with its chromedriver on this machine: apt-get install "
            "chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "hide-scrollbars",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(service=webdriver.ChromeService(driver), options=options)
    running.set_page_load_timeout(60)
    yield running
    running.quit()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real collections for development; a test that asks for them skips where they are
    absent.
    """
    folder = os.environ.get("FACTSEEK_DATA")
    if not folder:
        pytest.skip("FACTSEEK_DATA is not set: the real collections are not here")
    path = (ROOT / folder).resolve() if not Path(folder).is_absolute() else Path(folder)
    if not path.is_dir():
        pytest.skip(f"FACTSEEK_DATA names {folder}, which is not a directory")
    return path


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the project's, with example indexes of its own; the processes of a
    run share it.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "example"
    with (folder.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = folder.with_suffix(".made")
            made.mkdir()
            for name in ("examples", "config.yaml"):
                (made / name).symlink_to(ROOT / name)
            build = [sys.executable, str(ROOT / "examples" / "build.py"), str(made / "indexes")]
            subprocess.run(build, check=True, capture_output=True, cwd=ROOT, timeout=900)
            made.rename(folder)
    return folder


def compile_latex(tables: str, folder: Path) -> None:
    """Compile tables as the body of an article; skip the test if pdflatex is not here."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not here: apt-get install texlive-latex-recommended")
    head = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (folder / "paper.tex").write_text(f"{head}{tables}\\end{{document}}\n", "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2_000:]
    assert (folder / "paper.pdf").stat().st_size > 1_000
