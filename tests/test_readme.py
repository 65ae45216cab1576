"""README and pages show what is printed: every word, every number as near as another processor
computes it.
"""

import doctest
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas
import pytest

from tests.conftest import compile_latex

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


PAGES = [
    "README.md",
    "docs/guides/search.md",
    "docs/guides/indexing.md",
    "docs/guides/run-and-score.md",
    "docs/guides/claims.md",
    "docs/guides/scale.md",
]


class Shown(NamedTuple):
    command: str
    output: str


def shown(text: str) -> list[Shown]:
    found = []
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Shown(command, output))
    return found


Ran = Callable[[str, Path], str]


@pytest.fixture
def ran(command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Run a command in a folder as it is typed, a plain one of factseek in this process.

    Return what a terminal shows.
    """

    def run(line: str, folder: Path) -> str:
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.chdir(folder)
        words = shlex.split(line, comments=True)
        if words[0] == "factseek" and not set(line) & set("|<>;&`$"):
            code, printed, said = command(*words[1:])
            return printed + (said if code else "")
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        bash = ["bash", "-c", line]
        done = subprocess.run(
            bash, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        return done.stdout + (done.stderr if done.returncode else "")

    return run


def plain(output: str) -> str:
    """Take out what differs from run to run: times, and the ids and sizes that follow from them."""
    output = re.sub(r"in \d+\.\d s$", "in … s", output, flags=re.MULTILINE)
    output = re.sub(r"\([0-9a-f]{16}\)", "(…)", output)
    output = re.sub(r"\d+\.\d MB", "… MB", output)
    output = re.sub(r"by factseek \d+\.\d+\.\d+", "by factseek …", output)
    return re.sub(r"20\d\d-\d\d-\d\dT[\d:]+Z", "…", output).strip()


def same(now: str, shown: str) -> bool:
    number = re.compile(r"-?\d+\.\d+")
    near = all(
        math.isclose(float(one), float(other), rel_tol=0.05, abs_tol=0.01)
        for one, other in zip(number.findall(now), number.findall(shown), strict=False)
    )
    return near and number.sub("#", now) == number.sub("#", shown)


class NearChecker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        exactly = super().check_output(want, got, optionflags)
        return exactly or same(" ".join(got.split()), " ".join(want.split()))


@pytest.fixture
def folder(example_folder: Path, tmp_path: Path) -> Path:
    """A folder that looks like the project's after ``make example``, for one page alone."""
    for name in ("examples", "config.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(example_folder / "indexes", tmp_path / "indexes")
    return tmp_path


def typed(text: str) -> list[Shown]:
    """Return the commands of a page that run by themselves: not those of make, nor those that ask a
    server.
    """
    return [one for one in shown(text) if one.command.split()[0] not in ("make", "curl", ".")]


@pytest.mark.real
@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_is_printed(folder: Path, name: str, ran: Ran) -> None:
    commands = typed((ROOT / name).read_text("utf-8"))
    assert len(commands) > 2
    for one in commands:
        now, then = plain(ran(one.command, folder)), plain(one.output)
        assert same(now, then), f"{one.command}\n{now}\n--- is shown as\n{then}"


@pytest.mark.real
def test_the_python_of_the_readme_runs(folder: Path, ran: Ran) -> None:
    (block,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (folder / "readme.py").write_text(block)
    assert ran("python readme.py", folder).startswith(
        "The World Health Assembly declared in May 1980"
    )


def test_the_tutorial_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(
        without_fences(text), {}, "tutorial", "docs/tutorial.md", 0
    )
    told: list[str] = []
    outcome = doctest.DocTestRunner(NearChecker(), optionflags=flags).run(test, out=told.append)
    assert outcome.attempted > 30
    assert outcome.failed == 0, "".join(told)


@pytest.mark.deep
def test_the_tutorial_is_an_experiment_on_scifact(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    (reading,) = re.findall(r"^```\n(documents = .*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "scifact").symlink_to(data_dir / "scifact")
    names: dict[str, Any] = {"pd": pandas}
    exec(reading, names)
    _, _, rest = without_fences(text).partition("Learn from some queries")
    for example in doctest.DocTestParser().get_examples(rest):
        exec(example.source, names)
    means = {name: of_run.mean for name, of_run in names["comparison"].means["nDCG@10"].items()}
    assert means["bm25"] > 0.6
    assert means["hybrid"] > max(means["bm25"], means["dense"])
    assert means["combined"] > means["bm25"]
    assert (tmp_path / "models" / "combiner.model").is_file()
    compile_latex(names["table"] + names["tuning"].as_latex(), tmp_path)


def without_fences(text: str) -> str:
    return re.sub(r"^```\w*$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda path: path.name
)
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r'(?:\]\(|src=")([^)"\s]+)', path.read_text("utf-8")):
        place, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        file = path.parent / place if place else path
        if "reference/" in place:  # made by make docs
            continue
        assert file.exists(), f"{path.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
            slugs = {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }
            assert anchor in slugs, f"{path.name}: {target}"


def rewrite(folder: Path, name: str) -> None:
    path = ROOT / name
    text = path.read_text("utf-8")
    for one in typed(text):
        now = ran(one.command, folder).rstrip("\n")
        text = text.replace(
            f"$ {one.command}\n{one.output}", f"$ {one.command}\n" + (f"{now}\n" if now else ""), 1
        )
    path.write_text(text, "utf-8")
