"""The one place that turns an error into an exit code."""

from __future__ import annotations

import argparse

import pytest

from factseek.retrieval.errors import CheckFailed, IndexStateError
from factseek.retrieval.terminal import Parser, run

ENDS = [
    (CheckFailed("run.tsv:3: bad"), 1, "run.tsv:3: bad"),
    (IndexStateError("ix:\n  is a\tfile"), 2, "ix: is a file"),
    (FileNotFoundError(2, "No such file or directory", "gone"), 2, "gone: No such file or directory"),
    (
        ModuleNotFoundError("No module named 'faiss'", name="faiss"),
        2,
        "the package faiss is missing; reinstall factseek with its dependencies",
    ),
    (KeyboardInterrupt(), 130, "interrupted"),
]


def parser_of(error: BaseException | None) -> Parser:
    """Return a parser with one command, ``go``, which raises."""

    def command(_: argparse.Namespace) -> int:
        if error is not None:
            raise error
        return 0

    parser = Parser(prog="factseek")
    go = parser.add_subparsers(required=True, metavar="COMMAND").add_parser("go")
    go.add_argument("-n", type=int)
    go.set_defaults(command=command)
    return parser


@pytest.mark.parametrize(("error", "code", "line"), ENDS)
def test_an_error_is_one_line_and_an_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    assert run(parser_of(error), ["go"]) == code
    assert capsys.readouterr() == ("", f"factseek: {line}\n")


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run(parser_of(ZeroDivisionError()), ["go"])


def test_a_reader_that_has_gone_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(parser_of(BrokenPipeError()), ["go"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "the following arguments are required: COMMAND; see factseek --help"),
        (["go", "-n", "x"], "argument -n: invalid int value: 'x'; see factseek go --help"),
        (["go", "--hlp=3"], "unrecognized arguments: --hlp=3; did you mean --help?; see factseek go --help"),
        (["go", "--what"], "unrecognized arguments: --what; see factseek go --help"),
    ],
)
def test_arguments_that_make_no_sense(capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    assert run(parser_of(None), arguments) == 2
    assert capsys.readouterr() == ("", f"factseek: {line}\n")
