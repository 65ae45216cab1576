"""The command ``search``: print the evidence for one query."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from ...core.domain import FacetCounts, Total
from ...core.errors import QueryError, UsageError
from ...core.terminal import (
    DONE,
    Subparsers,
    add_config,
    add_json,
    format_count,
    require_text,
    say,
    write,
    write_bytes,
)
from ...core.text import pieces_of
from .. import retrievers, stages
from ..arguments import add_filter, add_verify, config_of
from ..config import Config, FusionSettings
from ..filters import parse_filter
from ..lucene.jvm import one_off
from . import counting, federated, listings
from .answer import Answer, Question, Took
from .declared import Option, offered_on
from .evidence import Evidence
from .explaining import ExplainedHit, describe_fusion
from .federated import FederatedAnswer
from .index import open_index
from .listings import JSON
from .options import Search, WrittenOptions
from .query_syntax import PLAIN, SYNTAXES

_SHOWN = 500
_COPIES = 5
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def register(commands: Subparsers) -> None:
    """Add ``search`` to the command line."""
    parser = commands.add_parser(
        "search", help="find the evidence for a claim", description="Find the evidence for a claim."
    )
    add = parser.add_argument
    add(
        "text",
        nargs="*",
        metavar="TEXT",
        help="the claim, tweet or question; several arguments are joined by spaces",
    )
    add(
        "--like",
        type=require_text,
        metavar="DOCID",
        help="find documents similar to this document of the index, which is left out; --collapse "
        "near also leaves out"
        " its near-duplicates",
    )
    add(
        "--syntax",
        choices=SYNTAXES,
        default=PLAIN,
        metavar="NAME",
        help='plain (default): the text has only words; query: it can also have "exact words", '
        "-word, title:, source:, "
        "topic:, before: and after:",
    )
    add(
        "--index",
        type=Path,
        required=True,
        action="append",
        metavar="DIR",
        help="the index directory; if repeated, the rankings of all indexes are merged",
    )
    add(
        "--weight",
        action="append",
        default=[],
        metavar="DIR=N",
        help="the weight of one of several indexes (default: 1); repeatable",
    )
    add_config(parser)
    add_search_options(parser)
    add(
        "--offset", type=int, default=0, metavar="N", help="leave out the first N hits (default: 0)"
    )
    add(
        "--count",
        action="store_true",
        help="print the total number of hits: with bm25, all documents that contain a word of the "
        "text; with vectors,"
        " all documents that the filter admits",
    )
    add(
        "--facet",
        action="append",
        default=[],
        metavar="FIELD[=N]",
        help="count the documents by a field, and print its N most frequent values (default: 10); "
        "repeatable; fields:"
        " topic, source, language, kind, year and those of index --filter-field",
    )
    add(
        "--format",
        choices=(JSON, *listings.KINDS),
        metavar="NAME",
        help=f"print the hits in a format for other programs: {', '.join((JSON, *listings.KINDS))}",
    )
    add("--explain", action="store_true", help="explain the rank of each hit")
    add_verify(parser)
    add_json(parser)
    parser.set_defaults(command=search)


def add_search_options(
    parser: argparse.ArgumentParser, hits: str = "search.k of the configuration, 10"
) -> None:
    """Add the options of a search, for one query or many; ``hits`` describes the default number of
    hits.
    """
    values = {"retriever": retrievers.names, "stages": stages.names}
    for option in offered_on("command"):
        help_ = option.description
        if option.name in values:
            help_ += f"; the values are {', '.join(values[option.name]())}"
        if option.name == "retriever":
            help_ += f", {retrievers.VARIANTS}"
        if option.name == "k":
            help_ += f" (default: {hits})"
        elif option.default and option.choices:
            help_ += f" (default: {option.default})"
        if option.name == "filter":
            add_filter(parser)  # other commands have it too
        else:
            _add_option(parser, option, help_)


def _add_option(parser: argparse.ArgumentParser, option: Option, help_: str) -> None:
    """Add a declared option as its type asks; without a value it keeps its default."""
    flag = _flag_of(option)
    help_ = help_.replace("%", "%%")
    given: dict[str, Any] = {"dest": option.name, "default": option.default, "help": help_}
    if option.is_truth:
        given["help"] = option.extra["off"] or help_
        sets_false = option.default is True or bool(option.extra["off"])
        parser.add_argument(flag, action="store_const", const=not sets_false, **given)
        return
    if len(option.choices) == 1:
        (given["metavar"],) = option.choices
    elif not option.choices:
        given["metavar"] = option.extra["metavar"] or ("N" if option.is_number else "NAME")
    if option.is_list:
        given |= {"action": "append", "help": f"{help_}; repeatable"}
        given["default"] = None if option.default is None else list(option.default)
    elif option.choices:
        given["choices"] = option.choices
    elif option.is_number:
        given["type"] = int if isinstance(option.type, inspect.IntType) else float
    elif option.default == "":
        # An empty text would mean no value; argparse would check a default text too.
        given |= {"type": require_text, "default": None}
    parser.add_argument(flag, **given)


def _flag_of(option: Option) -> str:
    name = option.name_on("command")
    if option.default is True and name == option.name:
        name = f"no-{name}"
    return name if name.startswith("-") else f"--{name.replace('_', '-')}"


def search(args: argparse.Namespace) -> int:
    """Search and print the evidence."""
    wanted = _format(args)
    if args.text and args.like:
        raise UsageError("--like replaces TEXT", remedy="leave out one of them")
    if not args.text and not args.like:
        raise UsageError(
            "give a TEXT to search for, or --like DOCID", remedy="see factseek search --help"
        )
    if len(args.index) == 1 and args.weight:
        raise UsageError("--weight needs several indexes; repeat --index")
    config = config_of(args, Config)
    try:
        facets = counting.fields_of(args.facet)
    except QueryError as error:
        raise QueryError(error.line, place="--facet") from None
    names = [str(folder) for folder in args.index]
    weights = _checked_weights(args, names) if len(names) > 1 else {}
    with one_off(), ExitStack() as opened:
        indexes = {name: opened.enter_context(open_index(name, config)) for name in names}
        questions = {
            name: Question(
                query=" ".join(args.text),
                search=replace(
                    search_from(args, config.search.fusion, index.info.filter_fields),
                    offset=args.offset,
                ),
                like=args.like or "",
                syntax=args.syntax,
                undated=args.undated == "keep",
                explain=args.explain,
                count=args.count,
                facets=facets,
            )
            for name, index in indexes.items()
        }
        if len(names) > 1:
            return _print_several(args, federated.answer(indexes, questions, weights), wanted)
        (index,) = indexes.values()
        return _print(args, index.info.id, index.answer(questions[names[0]]), wanted)


def _print(args: argparse.Namespace, manifest_id: str, answer: Answer, wanted: str) -> int:
    _say_notes("", answer.note, answer.suggestion)
    _say_relatedness(answer)
    explained = answer.explanation.hits if answer.explanation else []
    if wanted != JSON:
        reasons = [hit.sentence for hit in explained]
        if answer.explanation and answer.explanation.fusion:
            write(describe_fusion(answer.explanation.fusion) + "\n\n")
        return _write_hits(
            answer.hits, wanted, answer.facets, answer.total, answer.took, reasons=reasons
        )
    query: dict[str, object] = {}
    if args.like:
        query = {"text": str(answer.text), "like": args.like}
    elif answer.parsed:
        query = {"text": " ".join(args.text), "parsed": answer.parsed.as_json()}
    optional = {
        "query": query,
        "suggestion": answer.suggestion,
        "depth": answer.depth,
        "approximate": answer.resolved.approximate,
        **_counts_as_json(answer.total, answer.facets),
        "explanation": list(map(_explanation_as_json, explained)),
        "fusion": answer.explanation and answer.explanation.fusion,
    }
    fields: dict[str, object] = {
        "manifest_id": manifest_id,
        "retriever": answer.retriever,
        "note": answer.note,
        "hits": answer.hits,
        "related": answer.related,
        "absent_words": answer.absent_words,
    }
    return _write_json(
        fields | {name: value for name, value in optional.items() if value or name == "facets"}
    )


def _explanation_as_json(hit: ExplainedHit) -> dict[str, object]:
    explained: dict[str, object] = {
        "words": {word.word: word.weight for word in hit.words},
        "sentence": hit.sentence,
    }
    if isinstance(hit.impacts, dict):
        explained["impacts"] = {
            ranking: {term.word: term.weight for term in terms}
            for ranking, terms in hit.impacts.items()
        }
    return explained


def _print_several(args: argparse.Namespace, answer: FederatedAnswer, wanted: str) -> int:
    for name, part in answer.indexes.items():
        _say_notes(name, part.note, part.suggestion)
    _say_relatedness(answer)
    counts = answer.counts
    facets, total = (counts.facets, counts.total) if counts else ({}, None)
    if wanted != JSON:
        return _write_hits(answer.hits, wanted, facets, total, answer.took)
    parsed, fields = next(iter(answer.indexes.values())).parsed, dict[str, object]()
    if parsed:
        fields["query"] = {"text": " ".join(args.text), "parsed": parsed.as_json()}
    fields |= {
        "hits": answer.hits,
        "related": answer.related,
        "absent_words": answer.absent_words,
    }
    return _write_json({**fields, **_counts_as_json(total, facets)})


def _counts_as_json(total: Total | None, facets: Mapping[str, FacetCounts]) -> dict[str, object]:
    if total is None:
        return {}
    return {"total": counting.total_answer(total), "facets": counting.facet_answers(facets)}


def _say_notes(name: str, note: str, suggestion: str) -> None:
    if note:
        say(f"note: {name}: {note}" if name else f"note: {note}")
    if suggestion:
        say(f"did you mean{f', in {name}' if name else ''}: " + _STEERING.sub("\ufffd", suggestion))


def _say_relatedness(answer: Answer | FederatedAnswer) -> None:
    if answer.related is False:
        say("note: nothing here seems to bear on the query")
    if answer.absent_words:
        words = _STEERING.sub("\ufffd", ", ".join(answer.absent_words))
        say(f"note: no document contains: {words}")


def _write_json(fields: dict[str, object]) -> int:
    write(msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n")
    return DONE


def _write_hits(
    hits: Sequence[Evidence],
    wanted: str,
    facets: Mapping[str, FacetCounts],
    total: Total | None,
    took: Took,
    *,
    reasons: Sequence[str] = (),
) -> int:
    if wanted:
        write_bytes(listings.list_hits(hits, wanted).encode())
        return DONE
    write("".join(map(_format_hit, hits, reasons or [""] * len(hits))))
    for line in counting.facet_lines(facets):
        write(_STEERING.sub("\ufffd", line) + "\n")
    sys.stdout.flush()  # if writing the hits fails, the user sees the error and no count
    of_all = ""
    if total is not None:
        of_all = (
            f" of {total.hits:,} that "
            f"{'contain a word of the query' if total.matching else 'can be ranked'}"
        )
    count = f"{format_count(len(hits), 'hit')}{of_all} in {took.retrieve + took.evidence:.0f} ms"
    say(count if hits else f"no hits{of_all}")
    return DONE


def _format(args: argparse.Namespace) -> str:
    """Return the output format of the hits; ``""`` is the format for people."""
    wanted: str = args.format or (JSON if args.json else "")
    if args.json and wanted != JSON:
        raise UsageError(f"--json and --format {wanted} are two formats; give one of them")
    if wanted not in ("", JSON) and (args.count or args.facet):
        raise UsageError(
            f"--format {wanted} cannot contain counts; leave out --count and --facet, or give "
            "--json"
        )
    if wanted not in ("", JSON) and args.explain:
        raise UsageError(
            f"--format {wanted} cannot contain explanations; leave out --explain, or give --json"
        )
    return wanted


def search_from(
    args: argparse.Namespace, fusion: FusionSettings, declared: Sequence[str]
) -> Search:
    """Return the search that the options describe; ``declared`` names the declared metadata fields
    of the index.

    Raises QueryError if a filter or a date is invalid.
    """
    given: dict[str, Any] = {}
    for option in offered_on("command"):
        value = getattr(args, option.name)
        if value is None:
            continue
        if option.is_number and not option.allows(value):
            what = f"a number of {option.extra['unit']}" if option.extra["unit"] else "a number"
            raise QueryError(f"{_flag_of(option)} {value}: give {what}, {option.range}")
        given[option.name] = tuple(value) if option.is_list else value
    written = WrittenOptions(**given)
    where = parse_filter(
        args.filter,
        as_of=written.as_of,
        since=written.since,
        undated=written.undated == "keep",
        declared=declared,
    )
    kind = args.fusion
    return Search.of(written, where=where, fusion=replace(fusion, kind=kind) if kind else None)


def _format_hit(hit: Evidence, reason: str) -> str:
    ranks = ", ".join(f"{name} {part.rank}" for name, part in hit.retrievers.items())
    index = Path(hit.index).name if hit.index else ""
    weak = "weak match, by meaning only" if hit.weak else ""
    about = " · ".join(
        part for part in (index, hit.topic, hit.source, hit.date, ranks, weak) if part
    )
    width = min(shutil.get_terminal_size((100, 24)).columns, 120) - 4
    lines = [f"{hit.rank:3} {hit.score:.4f}  {hit.docid}  ({about})"]
    if hit.title:
        lines.append(f"    {' '.join(hit.title.split())}")
    if hit.claim:
        lines += _wrapped(f"Claim: {hit.claim}", width)
    # Each mark is one private character, so the wrapped lines keep their width.
    lines += textwrap.wrap(
        _mark_passage(hit), width, initial_indent="    ", subsequent_indent="    "
    )
    found = hit.metadata.get("explanation")
    if isinstance(found, str) and found.strip() and not hit.claim:
        lines += _wrapped(f"What was found: {found}", width)
    if hit.url:
        lines.append(f"    {hit.url}")
    if hit.copies and hit.copies.count:
        more = " …" if hit.copies.count > _COPIES else ""
        lines.append(
            f"    {format_count(hit.copies.count, 'near-duplicate')}: "
            f"{', '.join(hit.copies.docids[:_COPIES])}{more}"
        )
    lines += textwrap.wrap(reason, width, initial_indent="    ", subsequent_indent="    ")
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    # A document's text must not control the terminal.
    text = "\n".join(_STEERING.sub("\ufffd", line) for line in lines)
    return text.replace("\ue000", bold).replace("\ue001", plain) + "\n\n"


def _wrapped(text: str, width: int) -> list[str]:
    """Return about the first 500 characters of a text as lines below a hit."""
    short = textwrap.shorten(text, _SHOWN, placeholder=" …")
    return textwrap.wrap(short, width, initial_indent="    ", subsequent_indent="    ")


def _mark_passage(hit: Evidence) -> str:
    """Return about the first 500 characters of the passage, with private characters around each
    highlight.
    """
    text = hit.passage.text
    end = len(text)
    if end > _SHOWN:
        blank = text.rfind(" ", _SHOWN * 4 // 5, _SHOWN)
        end = blank if blank >= 0 else _SHOWN
    pieces = pieces_of(text, hit.passage.highlights, 0, end)
    marked = (f"\ue000{piece.text}\ue001" if piece.marked else piece.text for piece in pieces)
    return " ".join("".join(marked).split()) + (" …" if end < len(text) else "")


def _checked_weights(args: argparse.Namespace, names: Sequence[str]) -> dict[str, float]:
    """Return the weights of several indexes.

    Raises UsageError if an option does not work with several.
    """
    if args.explain or args.like:
        raise UsageError("--explain and --like work with one index only; give one --index")
    if len({folder.resolve() for folder in args.index}) < len(names):
        raise UsageError(
            "--index names the same index twice; give it once", remedy="see factseek search --help"
        )
    weights: dict[str, float] = {}
    for option in args.weight:
        written, _, value = option.rpartition("=")
        name = str(Path(written))
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if name not in names or not 0 <= weight <= 1_000_000:
            raise UsageError(
                f"--weight {option}: give DIR=N, where DIR is a directory of --index and N is from "
                "0 to 1000000"
            )
        weights[name] = weight
    return weights
