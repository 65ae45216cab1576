"""The command ``rank``: rank tweets or sentences by check-worthiness."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...core.domain import Statement
from ...core.errors import QueryError, SourceError
from ...core.files import check_distinct, files_in, make_folder_of, open_regular, writable
from ...core.languages import unknown_language
from ...core.progress import bar
from ...core.records.runs import column
from ...core.terminal import (
    DONE,
    Subparsers,
    add_config,
    add_json,
    report,
    say,
    write,
    write_now,
)
from ...retrieval.arguments import config_of
from ...retrieval.search.index import Index
from ..checked import CheckedBefore, find_checked, has_reviews
from ..formats import add_learning, check_model, try_to_submit
from ..settings import Config
from ..text.languages import check_languages, language_of, read_language, with_language
from . import ranking
from .rankers import names
from .ranking import (
    Ranked,
    RankerRequest,
    TrainedRanker,
    language_of_task,
    load_or_train,
    rank_and_explain,
    rank_stream,
)

if TYPE_CHECKING:
    from ...eval.tasks import StatementTask
    from ..formats import StatementTasks


STANDARD_INPUT = "-"
_PIPED = "standard input"
_TEXT = 90  # the number of characters of a statement that a row shows


def register(commands: Subparsers, formats: StatementTasks) -> None:
    """Add ``rank`` and ``tune-encoder``; ``formats`` reads and writes the tasks' files."""
    description = "Train or load a check-worthiness ranker, and rank tweets or sentences."
    summary = "rank tweets or debate sentences by check-worthiness"
    parser = commands.add_parser("rank", help=summary, description=description)
    train = "labelled files to learn from, or folders of them"
    add_learning(parser, formats.names(), names(), train=train, what="ranker", model="claims.model")
    _add_language(parser)
    ranked = "the files to rank, or folders of them; - is standard input (TSV or JSON lines)"
    parser.add_argument("--input", nargs="+", default=[], metavar="FILE", help=ranked)
    output = "the submission file; for several inputs, a folder with one file each"
    parser.add_argument("--output", type=Path, metavar="FILE|DIR", help=output)
    parser.add_argument(
        "--run-id", default="", metavar="ID", help="the run id (default: factseek-MODEL)"
    )
    stream = (
        "rank each line of standard input or of the --input files as it arrives, as a JSON line"
    )
    parser.add_argument("--stream", action="store_true", help=stream)
    words = "print each statement's N words with the largest weight"
    parser.add_argument("--words", type=int, default=0, metavar="N", help=words)
    top = "how many statements to print (default: 20; 0: all)"
    parser.add_argument("--top", type=int, default=20, metavar="N", help=top)
    index = "look for a fact-check of each printed statement in these indexes"
    parser.add_argument("--index", nargs="+", default=[], type=Path, metavar="DIR", help=index)
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of text")
    add_config(parser)
    parser.set_defaults(command=partial(run, formats=formats))
    parser = commands.add_parser(
        "tune-encoder",
        help="train a sentence encoder for check-worthiness",
        description="Train the encoder that claims.multilingual.encoder names, with a claim head "
        "and a language"
        " head, and write it to a folder for rank --model multilingual.",
    )
    parser.add_argument(
        "task", choices=formats.names(), metavar="TASK", help=f"one of {', '.join(formats.names())}"
    )
    parser.add_argument(
        "--train", nargs="+", type=Path, required=True, metavar="FILE", help="labelled files"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="the new folder of the encoder"
    )
    _add_language(parser)
    add_config(parser)
    add_json(parser)
    parser.set_defaults(command=partial(tune_encoder, formats=formats))


def _add_language(parser: argparse.ArgumentParser) -> None:
    language = (
        "the language of all files, ISO 639-1 (default: the task's only language, else detected)"
    )
    parser.add_argument("--language", type=read_language, default="", metavar="CODE", help=language)


def run(args: argparse.Namespace, formats: StatementTasks) -> int:
    """Train or load a ranker; rank the inputs; write submissions, or print the ranking."""
    args.train = files_in(args.train)
    inputs_of = (
        [name] if name == STANDARD_INPUT else map(str, files_in([Path(name)]))
        for name in args.input
    )
    args.input = list(chain.from_iterable(inputs_of))
    outputs = outputs_of(args)
    format_ = formats.load(args.task)
    # Read the inputs first, so that an error in them appears before minutes of training.
    inputs = [] if args.stream else [_read(args, format_, name) for name in args.input]
    for name, statements in zip(args.input, inputs, strict=False) if outputs else ():
        _check_ids(format_, name, statements)
    learned = _load_or_train(args, format_)
    if args.stream:
        with _open_indexes(args) as indexes:
            for entry in rank_stream(learned.ranker, _coming(args, format_, learned), args.words):
                (checked,) = find_checked(indexes, [entry.statement.text])
                write_now(json_line(entry, checked))
        return DONE
    for name, statements in zip(args.input, inputs, strict=True):
        check_languages(
            statements, learned.manifest.languages, _PIPED if name == STANDARD_INPUT else name
        )
    every = list(chain.from_iterable(inputs))
    if outputs:
        model, scores = learned.manifest.model, iter(learned.ranker.score(every).tolist())
        for output, statements in zip(outputs, inputs, strict=True):
            output.parent.mkdir(exist_ok=True)
            scored = [(statement.topic, statement.qid, next(scores)) for statement in statements]
            format_.write(scored, output, args.run_id or f"factseek-{model}")
            facts = {"output": str(output), "statements": len(statements), "model": model}
            report(args, facts, f"{output}: {len(statements):,} statements ranked by {model}\n")
    elif inputs:
        found = rank_and_explain(learned, every, top=args.top, words=args.words)
        with _open_indexes(args) as indexes:
            reviews = find_checked(indexes, [entry.statement.text for entry in found.ranked])
            for entry, checked in zip(found.ranked, reviews, strict=True):
                write(json_line(entry, checked) if args.json else row(entry, checked))
    return DONE


@contextmanager
def _open_indexes(args: argparse.Namespace) -> Iterator[dict[str, Index]]:
    """Open the indexes of ``--index``, by their folders as they were given.

    Raises QueryError for an index without fact-checks, or without vectors to find them by.
    """
    with ExitStack() as stack:
        indexes = {}
        for folder in args.index:
            index = stack.enter_context(Index(folder, config_of(args, Config)))
            if not has_reviews(index):
                raise QueryError(
                    "has no fact-checks with vectors",
                    place=folder,
                    remedy="give an index of claimreview or claims that was built with vectors",
                )
            indexes[str(folder)] = index
        yield indexes


def tune_encoder(args: argparse.Namespace, formats: StatementTasks) -> int:
    """Train the encoder on the labelled files, and write it to the new folder."""
    from .rankers.multilingual import tune

    format_ = formats.load(args.task)
    parts = [
        _in_language(args, format_, format_.read_statements(path, labelled=True))
        for path in files_in(args.train)
    ]
    statements = list(chain.from_iterable(parts))
    tune(statements, config_of(args, Config), args.output)
    facts = {"output": str(args.output), "statements": len(statements)}
    report(args, facts, f"{args.output}: trained on {len(statements):,} statements\n")
    return DONE


def _load_or_train(args: argparse.Namespace, format_: StatementTask) -> TrainedRanker:
    request = RankerRequest(
        task=args.task,
        train=tuple(args.train),
        load=args.load,
        model=args.model or "",
        language=args.language,
    )
    learned = load_or_train(request, format_, config_of(args, Config), bar)
    if args.load:
        check_model(args, learned.manifest)
    if args.save:
        ranking.save(args.save, learned)
        sources = learned.manifest.sources
        statements = sum(source.statements for source in sources)
        positives = sum(source.positives for source in sources)
        say(
            f"{args.save}: {learned.manifest.model}, learned from {statements:,} statements, "
            f"{positives:,} of them worth checking"
        )
    return learned


def _read(args: argparse.Namespace, format_: StatementTask, name: str) -> list[Statement]:
    if name != STANDARD_INPUT:
        return _in_language(args, format_, format_.read_statements(Path(name), labelled=False))
    if statements := list(format_.stream_statements(sys.stdin.buffer, _PIPED)):
        return _in_language(args, format_, statements)
    raise SourceError("contains nothing to rank", place=_PIPED)


def _check_ids(format_: StatementTask, name: str, statements: Sequence[Statement]) -> None:
    """Raise QueryError if a submission cannot contain the statements of an input."""
    unscored = [(statement.topic, statement.qid, 0.0) for statement in statements]
    try_to_submit(name, lambda path: format_.write(unscored, path, "factseek"))


def _in_language(
    args: argparse.Namespace, format_: StatementTask, statements: Sequence[Statement]
) -> list[Statement]:
    """Return a file's statements with their language: ``--language``, else the task's only
    language, else detected.
    """
    return with_language(statements, args.language or language_of_task(format_))


def _coming(
    args: argparse.Namespace, format_: StatementTask, learned: TrainedRanker
) -> Iterator[Statement]:
    languages = learned.manifest.languages
    for name in args.input or [STANDARD_INPUT]:
        piped = name == STANDARD_INPUT
        with nullcontext(sys.stdin.buffer) if piped else open_regular(Path(name)) as file:
            for statement in format_.stream_statements(file, _PIPED if piped else name):
                foreign = "" if args.language else unknown_language(statement.text, languages)
                if foreign:
                    say(
                        f"note: {statement.place}: is in {foreign}, but the model learned from "
                        f"{', '.join(languages)}"
                    )
                yield statement._replace(
                    language=args.language or language_of([statement.text], languages)
                )


def outputs_of(args: argparse.Namespace) -> list[Path]:
    """Return the path of each input's submission: ``--output``, or a file in the folder
    ``--output``; none without it.

    Raises QueryError, before any work, if options contradict each other or a file cannot be
    written.
    """
    _refuse_contradictions(args)
    named = [Path(name) for name in args.input if name != STANDARD_INPUT]
    read, saved, folder = (
        [*args.train, *named, *filter(None, [args.load])],
        [*filter(None, [args.save])],
        args.output,
    )
    for path in saved:
        writable(path, read)
    if folder is None:
        return []
    if len(args.input) == 1 and not folder.is_dir():
        writable(folder, read)
        check_distinct([folder, *saved])
        return [folder]
    if folder.exists() and not folder.is_dir():
        raise QueryError(
            "is a file", place=folder, remedy="give a folder, which gets one submission per input"
        )
    make_folder_of(folder)
    stems = [
        "standard-input" if name == STANDARD_INPUT else Path(name.removesuffix(".gz")).stem
        for name in args.input
    ]
    twice = next((stem for stem in stems if stems.count(stem) > 1), "")
    if twice:
        remedy = "rename one: their submissions would have the same name"
        raise QueryError(f"{twice} is the name of two files", place="--input", remedy=remedy)
    outputs = [folder / f"{stem}.tsv" for stem in stems]
    for output in outputs if folder.is_dir() else ():
        writable(output, read)
    check_distinct([folder, *outputs, *saved])
    return outputs


def _refuse_contradictions(args: argparse.Namespace) -> None:
    if args.train and args.load:
        raise QueryError("--train and --load exclude each other: learn a ranker or load one")
    if args.load and args.save:
        raise QueryError("--load and --save exclude each other: copy the file instead")
    if args.index and args.output:
        raise QueryError(
            "--index adds fact-checks to what is printed", remedy="leave out --output or --index"
        )
    if args.stream and (args.output or args.json):
        raise QueryError(
            "--stream writes JSON lines to standard output", remedy="leave out --output and --json"
        )
    if args.words < 0 or args.top < 0:
        raise QueryError("give 0 or more for --words and --top")
    if args.output and not args.input:
        raise QueryError(
            "there is nothing to rank", place="--output", remedy="give a file with --input"
        )
    if not (args.input or args.stream or args.save):
        raise QueryError(
            "there is nothing to do: give --input to rank, --stream for standard input, or --save"
        )
    try:
        column(args.run_id or "default")
    except QueryError as error:
        raise QueryError(f"--run-id {error}") from None
    if args.input.count(STANDARD_INPUT) > 1:
        raise QueryError("standard input can be read only once", place="--input")


def json_line(ranked: Ranked, checked: CheckedBefore | None = None) -> str:
    """Return a ranked statement as one line of JSON, with the fact-check of its claim if one was
    found.
    """
    record = ranking.as_json(ranked)
    if checked:
        record["checked_before"] = msgspec.structs.asdict(checked)
    return json.dumps(record, ensure_ascii=False) + "\n"


def row(ranked: Ranked, checked: CheckedBefore | None = None) -> str:
    """Return rank, probability (or score), id and text, and, on lines below, the words with the
    largest weight and the fact-check.
    """
    sure = f"{ranking.sureness(ranked):>7}"
    cut = _short(ranked.statement.text)
    words = ", ".join(f"{weight.word} {weight.weight:+.2f}" for weight in ranked.words)
    statement = ranked.statement
    name = (
        f"{statement.topic}:{statement.qid} {statement.speaker}"
        if statement.speaker
        else statement.qid
    )
    lines = [f"{ranked.rank:4} {sure}  {name}  {cut}"]
    if words:
        lines.append(f"{'':14}{words}")
    if checked:
        rating = f" {checked.rating}, by {checked.publisher}:" if checked.rating else ""
        lines.append(f"{'':14}checked before:{rating} {_short(checked.claim)}")
        lines.append(f"{'':14}{checked.url or checked.docid}")
    return "".join(f"{line}\n" for line in lines)


def _short(text: str) -> str:
    """Return a text in one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else line[: _TEXT - 2] + " …"
