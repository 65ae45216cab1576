"""The command ``pipeline``: rank statements by check-worthiness, find evidence for the top, judge
them, make a page.

The page is one file that loads nothing else. The contents of tweets and documents appear in it as
text, never as markup, and links lead only to web addresses.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ... import __version__
from ...core.domain import Claim, Statement
from ...core.errors import QueryError
from ...core.files import writable, write_atomically
from ...core.progress import Progress, bar
from ...core.records.runs import write_text
from ...core.terminal import DONE, Subparsers, add_json, report, say
from ...core.text import pieces_of, tweet, web_link
from ...retrieval.arguments import add_index, config_of
from ...retrieval.lucene.analysis import TermCache, highlights
from ...retrieval.search.index import open_index
from ..checkworthiness import ranking
from ..checkworthiness.rankers import Ranker
from ..checkworthiness.ranking import Ranked, explain, language_of_task, rank
from ..evidence.sentences import Stance, stance_of
from ..settings import Config
from ..text.languages import check_languages, read_language, with_language
from ..verdicts import training as verifying
from ..verdicts.cli import add_where, finder_of
from ..verdicts.verdict import TrainedVerdicts, Verdict, Verifier, record

if TYPE_CHECKING:
    from ..formats import StatementTasks

_SAID: dict[Stance, tuple[str, str]] = {
    "for": ("The evidence seems to support it", "for"),
    "against": ("The evidence seems to speak against it", "against"),
    "neither": ("The evidence does not settle it", "open"),
}
_UNDECIDED = ("No verdict", "open")
_WORDS = 5  # the number of words to show of a statement: those that change its score most


def register(commands: Subparsers, formats: StatementTasks) -> None:
    """Add ``pipeline``; ``formats`` reads the tasks' files."""
    parser = commands.add_parser(
        "pipeline",
        help="rank tweets, find evidence and write a page of verdicts with sources",
        description=(
            "Rank tweets or sentences by check-worthiness, find evidence for the first of them, "
            "and judge these. The"
            " output is JSON lines for programs and an HTML page for editors."
        ),
    )
    parser.add_argument(
        "--input", type=Path, required=True, metavar="FILE", help="tweets, or a debate"
    )
    parser.add_argument(
        "--task", choices=formats.names(), default=formats.default(), help="the format of FILE"
    )
    language = "the language of FILE, ISO 639-1 (default: the task's only language, else detected)"
    parser.add_argument("--language", type=read_language, default="", metavar="CODE", help=language)
    ranker, model = (
        "a ranker that factseek rank --save wrote",
        "a model that factseek verdict --save wrote",
    )
    parser.add_argument("--ranker", type=Path, required=True, metavar="MODEL", help=ranker)
    parser.add_argument("--verdicts", type=Path, required=True, metavar="MODEL", help=model)
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="how many claims to check (default: 10)"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the JSON lines")
    html = "the HTML page (default: the output's name plus .html)"
    parser.add_argument("--html", type=Path, metavar="FILE", help=html)
    parser.add_argument(
        "--title",
        default="Claims to check",
        help="the title of the page (default: Claims to check)",
    )
    add_index(parser)
    add_where(parser)
    add_json(parser)
    parser.set_defaults(command=partial(run, formats=formats))


def run(args: argparse.Namespace, formats: StatementTasks) -> int:
    """Rank, find evidence and judge; write the JSON lines and the page."""
    html = args.html or args.output.with_name(f"{args.output.name}.html")
    _refuse(args, html)
    config = config_of(args, Config)
    format_ = formats.load(args.task)
    language = args.language or language_of_task(format_)
    statements = with_language(format_.read_statements(args.input, labelled=False), language)
    with open_index(args.index, config) as index:
        finder = finder_of(args, index, config)
        ranker = ranking.load(args.ranker, args.task, config)
        check_languages(statements, ranker.manifest.languages, str(args.input))
        learned = verifying.load(args.verdicts, config)
        verifier = learned.verifier(finder, config.verdict, for_people=True)
        checked = check(ranker.ranker, verifier, statements, args.top, bar)
        heading = {
            "title": args.title,
            "statements": len(statements),
            "ranker": ranker.manifest.model,
            "model": learned.manifest.model,
            "worth": _worth(learned),
            "collection": f"{index.info.name} ({index.info.id})",
            "version": __version__,
        }
        content = page(checked, heading, index.terms)
    write_text(args.output, map(json_line, checked))
    write_atomically(html, content.encode())
    abstained = sum(bool(checked_claim.verdict.abstained) for checked_claim in checked)
    text = (
        f"{args.output}: the {len(checked):,} of {len(statements):,} statements most worth "
        "checking, with evidence\n"
    )
    counts = {"statements": len(statements), "checked": len(checked), "abstained": abstained}
    report(
        args, {"output": str(args.output), "page": str(html), **counts}, f"{text}{html}: the page\n"
    )
    if abstained:
        say(
            f"note: the evidence allows no verdict on {abstained:,} of {len(checked):,} claims; "
            "the page shows why"
        )
    return DONE


def _worth(learned: TrainedVerdicts) -> str:
    figures = learned.manifest.figures
    if not figures:
        return "The quality of the verdicts was not measured."
    own, alone = figures[learned.manifest.model], figures["hypothesis"]
    return (
        f"In a cross-validation, the most probable label was right for {own['accuracy']:.0%} of "
        f"{figures['claims']:,} claims that the model had not learned from (macro-F1 "
        f"{own['macro_f1']:.2f}; "
        f"{alone['macro_f1']:.2f} without any evidence)."
    )


def _refuse(args: argparse.Namespace, html: Path) -> None:
    if args.top < 1:
        raise QueryError(f"--top {args.top}: give a number, 1 or more")
    for path in (args.output, html):
        writable(path, [args.input, args.ranker, args.verdicts])
    if html.absolute() == args.output.absolute():
        raise QueryError(
            f"--html {html}: is also the file of the JSON lines", remedy="give another file"
        )


class Checked(NamedTuple):
    """A statement with its rank among all, and the verdict on it."""

    ranked: Ranked
    verdict: Verdict


def check(
    ranker: Ranker,
    verifier: Verifier,
    statements: Sequence[Statement],
    top: int,
    progress: Progress,
) -> list[Checked]:
    """Return the ``top`` statements most worth checking, in that order, each with its verdict.

    The claim to verify is the statement without links, mentions and RT.
    """
    first = rank(ranker, statements)[:top]
    claims = [
        Claim(own.qid, tweet(own.text), topic=own.topic, place=own.place)
        for _, _, _, own, _ in first
    ]
    with closing(progress("finding evidence", "claim", len(claims))) as meter:
        verdicts = list(verifier.verify(claims, meter))
    return [
        Checked(ranked._replace(words=explain(ranker, ranked.statement, _WORDS)), verdict)
        for ranked, verdict in zip(first, verdicts, strict=True)
    ]


def json_line(checked: Checked) -> str:
    """Return a checked statement as a JSON line."""
    ranked = checked.ranked
    facts = {
        "rank": ranked.rank,
        "id": ranked.statement.qid,
        "topic": ranked.statement.topic,
        "speaker": ranked.statement.speaker,
        "text": ranked.statement.text,
        "check_worthiness": {
            "score": ranked.score,
            "probability": ranked.probability,
            "words": [{"word": word, "weight": round(weight, 4)} for word, weight in ranked.words],
        },
        "verdict": record(checked.verdict),
    }
    return msgspec.json.encode(facts).decode() + "\n"


def page(checked: Sequence[Checked], heading: Mapping[str, object], vocabulary: TermCache) -> str:
    """Return the page with the facts of ``heading``; ``vocabulary`` is the index's, and decides
    which words to mark.
    """
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(address=web_link, conclusion=conclusion, share=share)
    environment.globals["pieces"] = lambda claim, sentence: pieces_of(
        sentence.text, highlights(claim, sentence.text, vocabulary), 0, len(sentence.text)
    )
    template = (
        resources.files(__package__).joinpath("templates", "pipeline.html").read_text("utf-8")
    )
    return environment.from_string(template).render(checked=checked, heading=heading)


def conclusion(checked: Checked) -> tuple[str, str]:
    """Return the conclusion on a claim in words, and its CSS class: for, against or open."""
    return _UNDECIDED if checked.verdict.abstained else _SAID[stance_of(checked.verdict.label)]


def share(probability: float) -> str:
    """Return a probability in whole per cent; never 0% or 100%, because no verdict is certain."""
    return "<1%" if probability < 0.01 else ">99%" if probability > 0.99 else f"{probability:.0%}"
