"""Mistakes made on the command line: one line, exit code 2, and nothing lost or half-written."""

import json
import os
import re
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from factseek import commands
from factseek.core.terminal import join_words
from factseek.indexer.collections import kinds, reader
from tests.indexer.as_found import name_files_as_found

TEXTS = [
    "Vaccines prevent measles.",
    "The Nile is a long river.",
    "Masks reduce the spread of viruses.",
]
DOCUMENTS = [
    {"docid": f"d{i}", "text": text, "topic": f"T{i % 2}", "date": "2020-03-01"}
    for i, text in enumerate(TEXTS)
]
GOOD = "".join(json.dumps(document) + "\n" for document in DOCUMENTS).encode()
MEND = "fix it, or skip bad lines with --skip-bad-lines N"


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> Done:
        capsys.readouterr()
        code = commands.main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "good.jsonl").write_bytes(GOOD)
    for name, more in (("ix", []), ("nd", ["--no-dense"])):
        assert (
            commands.main(
                ["index", "jsonl", str(folder / "good.jsonl"), "--index", str(folder / name), *more]
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


def refusal(done: Done) -> str:
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("factseek: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1, done.err
    return done.err.removeprefix("factseek: ").rstrip("\n")


def found(run: Run, index: object, query: str = "measles") -> list[str]:
    done = run("search", query, "--index", index, "--json", "--retriever", "bm25")
    assert done.code == 0, done.err
    return [hit["docid"] for hit in json.loads(done.out)["hits"]]


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


class Pwned:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("pwned",)


def malicious_pickle() -> bytes:
    import pickle

    return pickle.dumps(Pwned())


SAME = b'{"docid": "same", "text": "Measles."}\n'


class Bad(NamedTuple):
    kind: str
    name: str
    content: bytes
    message: str
    mended: bytes


BAD_SOURCES = {
    "empty": Bad("jsonl", "a.jsonl", b"", "{}: is empty", GOOD),
    "no text": Bad(
        "jsonl",
        "a.jsonl",
        b'{"docid": "a", "text": ""}\n',
        "{}: no jsonl document was found (left out: 1 no text)",
        GOOD,
    ),
    "broken JSON line": Bad(
        "jsonl",
        "a.jsonl",
        GOOD + b'{"docid": oops\n',
        f"{{}}:4: is not JSON (column 11: expecting value); {MEND}",
        GOOD,
    ),
    "docid twice": Bad(
        "jsonl",
        "a.jsonl",
        SAME + SAME + b'{"docid": "same", "text": "Other."}\n',
        f"{{}}:3: docid 'same' is already at {{}}:1, with different content; {MEND}",
        SAME + SAME,
    ),
    "malicious pickle": Bad(
        "cord19",
        "a.pkl",
        malicious_pickle(),
        "{}: refers to posix.mkdir, which no table of papers needs, so factseek refused it",
        b"",
    ),
}


@pytest.mark.parametrize("case", BAD_SOURCES)
def test_a_bad_source_is_named_and_once_mended_is_read(here: Path, run: Run, case: str) -> None:
    bad = BAD_SOURCES[case]
    source = Path(bad.name)
    source.write_bytes(bad.content)
    before = files(here / "nd")
    for index, verb in (
        ("nd", ["--append"]),
        ("nd", ["--update"]),
        ("nd", ["--overwrite"]),
        ("new", []),
    ):
        message = refusal(run("index", bad.kind, source, "--index", index, "--no-dense", *verb))
        if "pickle" in case:
            message = message.partition(" (")[0]
        assert message == bad.message.replace("{}", str(source))
    assert files(here / "nd") == before
    assert found(run, "nd") == ["d0"]
    assert not Path("pwned").exists()
    assert files(here / "new") == {}
    assert refusal(run("search", "measles", "--index", "new")).startswith(
        "new: there is no index; build one with: "
    )
    if bad.mended:
        source.write_bytes(bad.mended)
        assert run("index", bad.kind, source, "--index", "new", "--no-dense").code == 0
        assert found(run, "new")


SKIPPED = {
    "jsonl": (
        "a.jsonl",
        GOOD + b'{"docid": oops\n[]\n',
        ["a.jsonl:4: is not JSON (column 11: expecting value)"],
    ),
}


@pytest.mark.parametrize("kind", SKIPPED)
def test_bad_lines_are_tolerated_up_to_a_number_and_listed(here: Path, run: Run, kind: str) -> None:
    name, content, listed = SKIPPED[kind]
    Path(name).write_bytes(content)
    done = run("index", kind, name, "--index", "new", "--no-dense", "--skip-bad-lines", 1)
    assert refusal(done).endswith(
        "; fix it (it is bad line 2), or allow more than 1 with --skip-bad-lines"
    )
    assert files(here / "new") == {}
    done = run("index", kind, name, "--index", "new", "--no-dense", "--skip-bad-lines", 2)
    assert done.code == 0
    lines = done.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"skipped: {listed[0]}")
    assert ", 2 bad lines skipped in " in done.out
    assert found(run, "new")


def test_a_docid_that_stands_in_another_source_or_in_the_index_is_named_with_both_places(
    here: Path, run: Run
) -> None:
    Path("other.jsonl").write_text(
        '{"docid": "new", "text": "n"}\n{"docid": "d1", "text": "Other."}\n', "utf-8"
    )
    said = f"other.jsonl:2: docid 'd1' is already at good.jsonl:2, with different content; {MEND}"
    assert (
        refusal(run("index", "jsonl", "good.jsonl", "other.jsonl", "--index", "new", "--no-dense"))
        == said
    )
    place = json.loads(run("info", "--index", "nd", "--json").out)["segments"][0]["sources"][0][
        "name"
    ]
    assert place == "good.jsonl"
    message = refusal(run("index", "jsonl", "other.jsonl", "--index", "nd", "--append"))
    assert message.startswith("other.jsonl:2: docid 'd1' is already at ")
    mend = MEND.replace("fix it", "replace it with --update")
    assert message.endswith(f"good.jsonl:2, in the index, with different content; {mend}")
    assert found(run, "nd", "other") == []


def test_a_line_of_50_megabytes_is_not_held_in_memory(here: Path, run: Run) -> None:
    with Path("long.jsonl").open("wb") as file:
        file.write(b'{"docid": "long", "text": "')
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n' + GOOD)
    tracemalloc.start()
    try:
        done = run("index", "jsonl", "long.jsonl", "--index", "new", "--no-dense")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (
        refusal(done)
        == f"long.jsonl:1: is longer than 10,000,000 bytes (build.max_line_bytes); {MEND}"
    )
    assert peak < 45_000_000
    assert (
        run(
            "index", "jsonl", "long.jsonl", "--index", "new", "--no-dense", "--skip-bad-lines", 1
        ).code
        == 0
    )
    assert found(run, "new") == ["d0"]


INDEX = ["index", "jsonl", "good.jsonl", "--no-dense", "--index"]
KINDS = ", ".join(kinds())
READS_TABLES = join_words([kind for kind in kinds() if getattr(reader(kind), "COLUMNS", False)])
BAD_COMMANDS = {
    "missing source": (
        ["index", "jsonl", "gone", "--index", "new"],
        "gone: there is no such file or directory",
    ),
    "unknown kind": (
        ["index", "tweets", "good.jsonl", "--index", "new"],
        f"unknown kind of source 'tweets'; the kinds are {KINDS}",
    ),
    "index is a file": ([*INDEX, "good.jsonl"], "good.jsonl: is a file, not an index directory"),
    "index in its source": (
        ["index", "jsonl", ".", "--index", "new"],
        "new: lies in the source .; put the index somewhere else",
    ),
    "unknown language": (
        [*INDEX, "new", "--language", "klingon"],
        (
            "language 'klingon' is not a code of ISO 639; use a code such as en or ar; to name "
            "an analyzer, use --analyzer"
        ),
    ),
    "vectors throughout": (
        [*INDEX, "ix", "--append"],
        (
            "ix: all documents of the index have vectors; leave out --no-dense, or replace the "
            "index with --overwrite"
        ),
    ),
    "columns twice": (
        [*INDEX, "new", "--column", "title=a", "--column", "title=b"],
        "--column names title twice; give it once",
    ),
    "columns of no table": (
        [*INDEX, "new", "--column", "text=a"],
        f"--column: jsonl has fixed names; leave it out; {READS_TABLES} use it",
    ),
    "no path": (
        ["info", "--index", ""],
        "argument --index: is empty; give a path; see factseek info --help",
    ),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_a_wrong_command_is_one_line_and_changes_nothing(here: Path, run: Run, case: str) -> None:
    arguments, message = BAD_COMMANDS[case]
    before = files(here)
    assert refusal(run(*arguments)) == message
    assert files(here) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_a_file_that_may_not_be_read(here: Path, run: Run) -> None:
    Path("good.jsonl").chmod(0)
    message = "good.jsonl: cannot be read: Permission denied"
    assert refusal(run("index", "jsonl", "good.jsonl", "--index", "new")) == message


DATE = "is not a date of the form 2020-03-01, 2020-03 or 2020"
FIELDS = "the fields are topic, source, language, kind"
BAD_SEARCHES = {
    "too long": (
        ["x " * 5001],
        "the query has 10002 characters, but at most 10000 are allowed (search.max_query_chars)",
    ),
    "k 0": (["x", "-k", "0"], "-k 0: give a number of hits, 1 or more"),
    "unknown filter": (
        ["x", "--filter", "author=me"],
        f"filter 'author=me': there is no field 'author'; {FIELDS}",
    ),
    "no day": (["x", "--as-of", "2020-02-30"], f"as-of '2020-02-30' {DATE}"),
    "no value": (
        ["x", "--as-of", ""],
        (
            "argument --as-of: is empty; give a value, or leave the option out; see factseek "
            "search --help"
        ),
    ),
    "offset": (
        ["x", "-k", "3", "--offset=-5"],
        "offset -5 is out of range: with k 3 it may be 0 to 9997",
    ),
}


@pytest.mark.parametrize("case", BAD_SEARCHES)
def test_a_search_that_makes_no_sense_is_one_line(here: Path, run: Run, case: str) -> None:
    arguments, message = BAD_SEARCHES[case]
    assert refusal(run("search", *arguments, "--index", "nd")) == message


def test_a_weight_names_an_index_however_its_folder_is_written(here: Path, run: Run) -> None:
    both = ("--index", "nd/", "--index", "ix", "--retriever", "bm25")
    assert run("search", "measles", *both, "--weight", "nd/=2").code == 0


BAD_SETTINGS = {
    "unknown key": (
        "bm25: {smoothing_of_terms: 1}",
        "c.yaml: bm25.smoothing_of_terms: there is no such setting",
    ),
    "wrong type": ("bm25:\n  k1: high\n", "c.yaml: bm25.k1: expected float, got str"),
    "key no string": ("1: 2", "c.yaml: a key is not a string; write it in quotes"),
    "no YAML": (
        "bm25: {k1: 1\n",
        "c.yaml:2: is not YAML: expected ',' or '}', but got '<stream end>'",
    ),
    "no text": ("\udcff", "c.yaml: is not UTF-8 text"),
}
BAD_ENCODERS = {
    "encoder not here": (
        "encoder: {model: no/such}",
        "encoder 'no/such' is not on this machine; fetch it with: hf download no/such",
    ),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_a_wrong_setting_is_named(here: Path, run: Run, case: str) -> None:
    written, message = BAD_SETTINGS[case]
    Path("c.yaml").write_text(written, "utf-8", errors="surrogateescape")
    assert refusal(run("search", "measles", "--index", "ix", "--config", "c.yaml")) == message
    assert (
        refusal(run("index", "jsonl", "good.jsonl", "--index", "new", "--config", "c.yaml"))
        == message
    )
    assert files(here / "new") == {}
    assert found(run, "ix") == ["d0"]


@pytest.mark.parametrize("case", BAD_ENCODERS)
def test_an_encoder_that_is_not_there_is_named_where_it_is_wanted(
    here: Path, run: Run, case: str
) -> None:
    written, message = BAD_ENCODERS[case]
    Path("c.yaml").write_text(written, "utf-8")
    assert (
        refusal(run("index", "jsonl", "good.jsonl", "--index", "new", "--config", "c.yaml"))
        == message
    )
    assert files(here / "new") == {}
    made = run("search", "measles", "--index", "ix")
    assert (
        run("search", "measles", "--index", "ix", "--config", "c.yaml").out == made.out
    )  # by the encoder of the index


SEGMENT = "broken/segments/000000"
RESTORE = "repair it with factseek verify-index --repair, or restore a snapshot"


def changed(**values: object) -> Callable[[Path], object]:
    def change(index: Path) -> None:
        manifest = json.loads((index / "manifest.json").read_bytes())
        (index / "manifest.json").write_text(json.dumps(manifest | values), "utf-8")

    return change


def cut(pattern: str) -> Callable[[Path], object]:
    def change(index: Path) -> None:
        paths = list(index.glob(pattern))
        assert paths
        for path in paths:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return change


DAMAGES = {
    "half-built": (
        lambda index: ((index / "manifest.json").unlink(), (index / "build").mkdir()),
        "broken: the index is half-built; run the same factseek index command again to continue",
    ),
    "another version": (
        changed(layout=1),
        "broken/manifest.json: has layout 1, but this factseek reads layout 4; "
        "rebuild it with: factseek index KIND SOURCE --index DIR --overwrite",
    ),
    "cut manifest": (
        cut("manifest.json"),
        "broken/manifest.json: is damaged (not JSON: Input data was truncated); restore the index "
        "from a snapshot, "
        "or rebuild it with --overwrite",
    ),
    "no documents": (
        lambda index: (index / "segments/000000/documents.sqlite").unlink(),
        (
            f"{SEGMENT}/documents.sqlite: the documents of this segment are missing; restore "
            "or rebuild the index"
        ),
    ),
    "Lucene cut": (
        cut("segments/000000/lucene/*.doc"),
        (
            f"{SEGMENT}/lucene: cannot be read (CorruptIndexException: Problem reading index); "
            f"{RESTORE}"
        ),
    ),
    "vectors cut": (
        cut("segments/000000/vectors.f32"),
        (
            f"{SEGMENT}/vectors.f32: has 2304 bytes, but 3 vectors of 384 dimensions take "
            f"4608; {RESTORE}"
        ),
    ),
}


OF_ANOTHER_SIZE = {"Lucene cut", "vectors cut"}
"""The damages that show in the size of a file, which is compared first."""


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_index_is_refused_and_can_be_built_anew(here: Path, run: Run, case: str) -> None:
    damage, message = DAMAGES[case]
    shutil.copytree("ix", "broken")
    damage(here / "broken")
    if case in OF_ANOTHER_SIZE:
        sized = refusal(run("search", "measles", "--index", "broken"))
        assert re.fullmatch(
            rf"{SEGMENT}/\S+: has \d+ bytes, but the manifest says \d+; {RESTORE}", sized
        )
        name_files_as_found(here / "broken")
    assert refusal(run("search", "measles", "--index", "broken")) == message
    verb = [] if case == "half-built" else ["--overwrite"]
    assert run(*INDEX, "broken", *verb).code == 0
    assert found(run, "broken") == ["d0"]


ODD = [
    {"docid": "numbers", "text": "12345 67890"},
    {"docid": "no-words", "text": "!!! … ???"},
    {"docid": "long", "text": "lorem ipsum dolor " * 60_000},
    {"docid": "one-word", "text": "x" * 1_000_000},
    {"docid": "título/日本?#عربي%2F😀", "text": "measles"},
    {"docid": "'\"\\*", "text": "quoted"},
    {"docid": "d" * 512, "text": "longest"},
    {"docid": "only-title", "title": "Headline", "text": ""},
    {"docid": "control", "text": "bell\x07 \x1b[31mred \u202eturned"},
    {"docid": "no-spaces", "text": "本" * 2_000},
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    source, index = folder / "odd.jsonl", folder / "odd"
    source.write_text("".join(json.dumps(document) + "\n" for document in ODD), "utf-8")
    assert commands.main(["index", "jsonl", str(source), "--index", str(index), "--no-dense"]) == 0
    return index


@pytest.mark.parametrize(
    ("query", "docid"),
    [
        ("12345", "numbers"),
        ("ipsum", "long"),
        ("x" * 255, "one-word"),
        ("measles", "título/日本?#عربي%2F😀"),
        ("quoted", "'\"\\*"),
        ("longest", "d" * 512),
        ("headline", "only-title"),
        ('headline AND ("unclosed [1 TO *:* field:x', "only-title"),
        ("headline " * 1_111, "only-title"),
        ("headline \udcff", "only-title"),
    ],
)
def test_odd_documents_are_found(odd: Path, run: Run, query: str, docid: str) -> None:
    assert found(run, odd, query) == [docid]
    assert run("search", query, "--index", odd).code == 0


def test_what_a_document_holds_does_not_steer_the_terminal(odd: Path, run: Run) -> None:
    assert (
        "    bell\ufffd \ufffd[31mred \ufffdturned\n" in run("search", "turned", "--index", odd).out
    )


def test_filters_of_thousands_of_values_and_of_none_that_is_there(here: Path, run: Run) -> None:
    topics = [part for i in range(3_000) for part in ("--filter", f"topic=T{i}")]
    for index in ("nd", "ix"):
        done = run("search", "measles", "--index", index, "--json", *topics)
        assert json.loads(done.out)["hits"][0]["docid"] == "d0"
        done = run("search", "measles", "--index", index, "--filter", "topic=none")
        assert done == Done(0, "", "no hits\n")


def test_names_that_are_not_ascii_or_not_utf_8(here: Path, run: Run) -> None:
    assert run(*INDEX, "فهرس").code == 0
    assert found(run, "فهرس") == ["d0"]
    shutil.copy("good.jsonl", "donn\udce9es.jsonl")
    assert run("index", "jsonl", "donn\udce9es.jsonl", "--index", "new", "--no-dense").code == 0
    assert found(run, "new") == ["d0"]
    message = refusal(run(*INDEX, "donn\udce9es"))
    assert (
        message
        == r"donn\udce9es/build/000000/lucene: a name in this path is not UTF-8 text; rename it"
    )
