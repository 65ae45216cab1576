"""The terminal: the only place that converts errors to exit codes, and the options that commands
share.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import msgspec

from .entry import BEFORE_ANYTHING, INTERRUPTED
from .errors import CheckFailed, FactseekError, UsageError

DONE, BAD_FILE, USER_ERROR = 0, 1, 2
GOES_ON = "interrupted; published data is intact, and the same command continues"
"""The message of an interrupted command that can continue where it stopped:
``set_defaults(interrupted=…)``.
"""
STAYS_WHOLE = "interrupted; published data is intact"
"""The message of an interrupted command that publishes all or nothing."""
Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"
Command = Callable[[argparse.Namespace], int]
Around = Callable[[argparse.Namespace], AbstractContextManager[object]]


class _Once(argparse._StoreAction):
    """Store the value of an option; a second value is an error, where argparse would silently keep
    the last.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        if option and isinstance(parser, Parser):
            if self.dest in parser.options_read:
                raise argparse.ArgumentError(self, "is given twice; give it once")
            parser.options_read.add(self.dest)
        super().__call__(parser, namespace, values, option)


class Parser(argparse.ArgumentParser):
    """A parser, of the program or of a command, with one-line errors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.options_read: set[str] = set()
        for name in (None, "store"):
            self.register("action", name, _Once)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Forget the recorded options, then parse arguments.

        Raises UsageError if an argument is unknown.
        """
        self.options_read.clear()
        parsed, left = super().parse_known_args(args, namespace)
        if left and self._subparsers is None:
            near = get_close_matches(left[0].partition("=")[0], self._option_string_actions, n=1)
            meant = f"; did you mean {near[0]}?" if near and left[0].startswith("--") else ""
            self.error(f"unrecognized arguments: {' '.join(left)}{meant}")
        return parsed, left

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if action.type is Path and not arg_string:  # Path("") would mean the current folder
            raise argparse.ArgumentError(action, "is empty; give a path")
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Iterable[Any] = action.choices or ()
        if not isinstance(action, argparse._SubParsersAction) or value in choices:
            super()._check_value(action, value)
            return
        near = get_close_matches(str(value), map(str, choices), n=1)
        listed = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(choices)}"
        self.error(f"there is no command {value!r}; {listed}")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the fault of the arguments and a pointer to the help."""
        raise UsageError(message, remedy=f"see {self.prog} --help")


def write(text: str) -> None:
    """Write results to standard output."""
    sys.stdout.write(text)


def write_now(text: str) -> None:
    """Write results of a command that continues, and flush them for readers of a pipe."""
    write(text)
    sys.stdout.flush()


def write_bytes(content: bytes) -> None:
    """Write a result to standard output unchanged, whatever the terminal's encoding."""
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(content.decode())
    else:
        raw.write(content)


def say(text: str) -> None:
    """Write a line of progress or explanation to standard error."""
    sys.stderr.write(text + "\n")


def format_count(number: int, name: str) -> str:
    """Return a number of things in words: ``1 line``, ``1,200 queries``."""
    return f"{number:,} {name if number == 1 else plural(name)}"


def plural(name: str) -> str:
    """Return the plural of a noun."""
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeou" else f"{name}s"


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return words as a list in a sentence: ``bm25, dense and hybrid``."""
    return f" {conjunction} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def run(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None = None,
    around: Around = nullcontext,
) -> int:
    """Run the command that the arguments name, in the context ``around``, and return its exit code.

    If the command fails, the code is 1 for a bad checked file, 2 for another error and 130 for an
    interruption.
    """
    _open_streams()
    args = argparse.Namespace(interrupted=BEFORE_ANYTHING)
    try:
        args = parser.parse_args(arguments)
        args.arguments = sys.argv[1:] if arguments is None else arguments
        command: Command = args.command
        with around(args):
            code = command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The program that read the output has ended (``| head``), so discard the rest.
        _drop_output()
        return DONE
    except (FactseekError, KeyboardInterrupt, ModuleNotFoundError, OSError) as error:
        if isinstance(error, OSError) and not error.filename:
            _drop_output()
        code = USER_ERROR
        match error:
            case CheckFailed():
                line, code = error.line, BAD_FILE
            case FactseekError():
                line = error.line
            case KeyboardInterrupt():
                line, code = getattr(args, "interrupted", "interrupted"), INTERRUPTED
            case ModuleNotFoundError():
                line = (
                    f"the package {error.name} is missing; reinstall factseek with its dependencies"
                )
            case OSError():
                line = f"{error.filename or 'standard output'}: {error.strerror or error}"
        say(f"factseek: {line}")
    return code


def _open_streams() -> None:
    """Make the standard streams accept any output, escaped if need be; a closed stream becomes the
    null device.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard the rest of the output, so that the interpreter does not fail on that output when it
    exits.
    """
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def require_text(value: str) -> str:
    """Return the value of an option; raise ArgumentTypeError if it is empty, because that would
    mean no option.
    """
    if not value:
        raise argparse.ArgumentTypeError("is empty; give a value, or leave the option out")
    return value


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add ``--config``."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings (default: $FACTSEEK_CONFIG, else ./factseek.yaml or ./config.yaml, else the "
        "defaults)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--latex``, which exclude each other."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON instead of text")
    forms.add_argument(
        "--latex", action="store_true", help="print a table for a paper (LaTeX with booktabs)"
    )


def report(args: argparse.Namespace, facts: Mapping[str, Any], text: str) -> None:
    """Write the result of a command: with ``--json``, ``facts`` as one JSON object, else
    ``text``.
    """
    write(msgspec.json.encode(facts).decode() + "\n" if args.json else text)
