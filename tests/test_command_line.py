"""The command line as a whole: every command, what it reports, how it is interrupted and
completed.
"""

import argparse
import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factseek import commands

Run = Callable[..., tuple[int, str, str]]
QUIET = {"serve", "watch", "key", "mcp", "completion"}
"""Commands that report nothing: three go on until they are stopped, two print what is to be used as
it is.
"""


def parsers() -> dict[str, argparse.ArgumentParser]:
    return commands.commands_of(commands.parser())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "d.jsonl").write_text(
        '{"docid": "a", "text": "Measles vaccines."}\n{"docid": "b", "text": "Two words."}\n'
    )
    assert (
        commands.main(
            ["index", "jsonl", str(folder / "d.jsonl"), "--index", str(folder / "ix"), "--no-dense"]
        )
        == 0
    )
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTSEEK_CONFIG", raising=False)
    return tmp_path


def test_every_command_that_reports_has_json() -> None:
    without = {
        name for name, parser in parsers().items() if "--json" not in parser._option_string_actions
    }
    assert without == QUIET


def test_what_is_reported_as_json_are_the_facts_of_the_text(here: Path, command: Run) -> None:
    def facts(*arguments: object) -> dict[str, Any]:
        code, out, _ = command(*arguments, "--json")
        assert code == 0
        assert out.count("\n") == 1
        read: dict[str, Any] = json.loads(out)
        return read

    indexed = facts("index", "jsonl", "d.jsonl", "--index", "new", "--no-dense")
    assert (indexed["index"], indexed["documents"], indexed["passages"], indexed["went_on"]) == (
        "new",
        2,
        2,
        False,
    )
    updated = facts("index", "jsonl", "d.jsonl", "--index", "new", "--no-dense", "--update")
    assert (updated["documents"], updated["there_already"]) == (0, 2)
    assert facts("delete", "--index", "new", "a", "z") == {
        "index": "new",
        "deleted": 1,
        "not_there": ["z"],
    }
    compacted = facts("compact", "--index", "new")
    assert (compacted["segments_before"], compacted["segments"], compacted["dropped"]) == (1, 1, 1)
    copied = facts("snapshot", "copy", "--index", "new")
    assert (copied["snapshot"], copied["documents"]) == ("copy", 1)
    assert copied["manifest_id"] == compacted["manifest_id"]
    restored = facts("restore", "copy", "--index", "again")
    assert (restored["index"], restored["snapshot"], restored["documents"]) == ("again", "copy", 1)
    assert facts("export", "--output", "o.jsonl", "--index", "new")["documents"] == 1
    Path("q.tsv").write_text("1\tmeasles\n2\t?!\n")
    ran = facts("run", "trec", "--queries", "q.tsv", "--index", "ix", "--output", "o.trec")
    assert (ran["output"], ran["queries"], ran["hits"], ran["without_words"]) == (
        "o.trec",
        2,
        1,
        ["2"],
    )


def test_words_without_quotes_are_one_query(here: Path, command: Run) -> None:
    quoted = command("search", "two words", "--index", "ix", "--json")
    assert quoted[0] == 0
    assert command("search", "two", "words", "--index", "ix", "--json")[1] == quoted[1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["serach", "x"],
            "there is no command 'serach'; did you mean search?; see factseek --help",
        ),
        (
            ["search", "x", "--index", "ix", "--index", "ix"],
            "--index names the same index twice; give it once; see factseek search --help",
        ),
        (
            ["search", "x", "--index", "ix", "-k", "3", "-k", "10"],
            "argument -k: is given twice; give it once; see ",
        ),
    ],
)
def test_slips_are_told_with_what_helps(
    here: Path, command: Run, arguments: list[str], line: str
) -> None:
    code, out, err = command(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"factseek: {line}")


def test_a_source_where_its_kind_should_be_is_told_with_its_kind(here: Path, command: Run) -> None:
    (here / "claims.csv").write_text("vclaim_id,vclaim,title\n1,a,b\n")
    (here / "other.csv").write_text("Nr,Inhalt\n1,a\n")
    (here / "pages").mkdir()
    for word, what in (
        (
            "claims.csv",
            (
                "claims.csv is a file; give the kind of source before it: factseek index "
                "claims claims.csv"
            ),
        ),
        (
            "other.csv",
            "other.csv is a file; give the kind of source before it: factseek index KIND other.csv",
        ),
        (
            "pages",
            "pages is a folder; give the kind of source before it: factseek index KIND pages",
        ),
    ):
        line = f"factseek: argument KIND: {what}; see factseek index --help\n"
        assert command("index", word, "--index", "new") == (2, "", line)


def test_an_index_that_is_being_built_is_not_called_half_built(here: Path, command: Run) -> None:
    (here / "new" / "build").mkdir(parents=True)
    (here / "new" / "lock").touch()
    half = (
        "factseek: new: the index is half-built; run the same factseek index command again to "
        "continue\n"
    )
    assert command("search", "x", "--index", "new") == (2, "", half)
    with (here / "new" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        line = (
            "factseek: new: the index is being built for the first time; search it when the "
            "build is done\n"
        )
        assert command("search", "x", "--index", "new") == (2, "", line)
        shutil.rmtree(here / "new" / "build")
        assert command("search", "x", "--index", "new") == (2, "", line)


def test_only_commands_that_go_on_say_so() -> None:
    lines = {
        name: parser.get_default("interrupted") or "interrupted"
        for name, parser in parsers().items()
    }
    assert {name for name, line in lines.items() if "continue" in line} == {
        "index",
        "train all",
        "train encoder",
        "train reranker",
    }
    whole = {
        name for name, line in lines.items() if line == "interrupted; published data is intact"
    }
    assert whole == {
        "alias",
        "delete",
        "compact",
        "verify-index",
        "snapshot",
        "restore",
        "shard",
        "reshard",
        "unshard",
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_every_command(command: Run, shell: str) -> None:
    code, script, _ = command("completion", shell)
    assert code == 0
    for name, parser in parsers().items():
        assert all(word in script for word in name.split())
        for option in parser._option_string_actions:
            assert option.lstrip("-") in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


def test_a_search_imports_no_other_command() -> None:
    others = [
        "email",
        "importlib.metadata",
        "yaml",
        *(f"factseek.{package}" for package in ("claims.text", "eval")),
    ]
    script = "import sys; from factseek import commands; commands.parser('search'); "
    script += "import factseek.retrieval.search.index; "
    script += f"print([name for name in {others!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
