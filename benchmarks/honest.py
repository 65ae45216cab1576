"""How often a search says that its hits may not answer a claim, over the bundled example indexes.

``FACTSEEK_CLAIMS=FILE python -m benchmarks.honest INDEXES`` reads a table of claims with the
columns ``index`` (the end of the name of an example index), ``covered`` (``yes``, ``near`` or
``far``), ``expected`` (the docids of right hits, between ``|``) and ``claim``. Claims with the word
``no`` for ``covered`` are near ones, or far ones if their ``id`` says so. ``INDEXES`` is the folder
that ``make example`` fills. The program prints one line: of the covered claims, how many are denied
and how many get the line with absent words; of the others, to how many something is said. With
``--all``, it also prints what is said of each claim.

``FACTSEEK_DATA=DATA python -m benchmarks.honest --tweets`` searches with the 197 tweets of dev of
CheckThat! 2020 task 2: once in an index of their claims and 1,200 other claims, which covers them,
and once in an index of the other claims alone.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from factseek import Config, open_index, read_qrels
from factseek.core.errors import UsageError
from factseek.core.terminal import write
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.answer import Question
from factseek.retrieval.search.index import Index

from .data import data_folder, write_objects

OTHER_CLAIMS = 1_200
"""The number of claims of CheckThat! that no tweet of dev is about, in each index."""
Coverage = Literal["yes", "near", "far"]


class HonestClaim(NamedTuple):
    """A claim, the index that it is written for, whether the index covers it, and its right
    hits.
    """

    index: str
    covered: Coverage
    right: tuple[str, ...]
    text: str


class Remark(NamedTuple):
    """What a search says besides its hits: whether they are related, the absent words, and whether
    a note says that the encoder does not know the language.
    """

    claim: HonestClaim
    first: str
    related: bool | None
    absent_words: tuple[str, ...]
    has_note: bool

    @property
    def denied(self) -> bool:
        """Whether the search says that nothing bears on the claim."""
        return self.related is False

    @property
    def is_right(self) -> bool:
        """Whether the first hit is right."""
        return self.first in self.claim.right

    @property
    def says_something(self) -> bool:
        """Whether the search says anything that warns a reader."""
        return self.denied or bool(self.absent_words) or self.has_note


class Rates(NamedTuple):
    """The figures of a table of claims."""

    covered: int
    right: int
    denied: int
    denied_right: int
    lines: int
    near: int
    near_said: int
    far: int
    far_said: int

    @classmethod
    def of(cls, remarks: Sequence[Remark]) -> Rates:
        """Count what was said."""
        covered = [each for each in remarks if each.claim.covered == "yes"]
        right = [each for each in covered if each.is_right]
        near = [each for each in remarks if each.claim.covered == "near"]
        far = [each for each in remarks if each.claim.covered == "far"]
        return cls(
            covered=len(covered),
            right=len(right),
            denied=sum(each.denied for each in covered),
            denied_right=sum(each.denied for each in right),
            lines=sum(bool(each.absent_words) for each in covered),
            near=len(near),
            near_said=sum(each.says_something for each in near),
            far=len(far),
            far_said=sum(each.says_something for each in far),
        )


def read_claims(path: Path) -> list[HonestClaim]:
    """Read a table of claims. Raises UsageError if a column is missing or a value unknown."""
    claims = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            covered = {"no": "far" if "-f" in row.get("id", "") else "near"}.get(
                row["covered"], row["covered"]
            )
            if covered not in ("yes", "near", "far"):
                raise UsageError(f"{path}: covered is {covered!r}, not yes, near or far")
            right = tuple(filter(None, row["expected"].split("|")))
            claims.append(HonestClaim(row["index"], covered, right, row["claim"]))
    return claims


def build_tweets(work: Path) -> list[HonestClaim]:
    """Build two indexes of checked claims in ``work``, and return tweets that one of them covers
    and the other does not.
    """
    folder = data_folder() / "ct2020-task2"
    claims = {row[""]: row for row in _rows(folder / "verified_claims.docs.tsv")}
    qrels = read_qrels(folder / "dev" / "tweet-vclaim-pairs.qrels")
    tweets = {row[""]: row["tweet_content"] for row in _rows(folder / "dev" / "tweets.queries.tsv")}
    right = {qid: tuple(docid for docid, grade in qrels[qid].items() if grade) for qid in tweets}
    gold = sorted(set().union(*right.values()))
    others = sorted(claims.keys() - set(gold))
    random.Random(1).shuffle(others)  # noqa: S311  the same claims each time
    others = others[:OTHER_CLAIMS]
    for name, docids in (("covering", [*gold, *others]), ("lacking", others)):
        source = work / f"{name}.jsonl"
        write_objects(
            source,
            (
                {"docid": each, "title": claims[each]["title"], "text": claims[each]["vclaim"]}
                for each in docids
            ),
        )
        request = BuildRequest(kind="jsonl", sources=(source,), folder=work / f"example-{name}")
        build(request, Config())
    made = []
    for qid, tweet in tweets.items():
        made.append(HonestClaim("covering", "yes", right[qid], tweet))
        made.append(HonestClaim("lacking", "near", (), tweet))
    return made


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def remarks_on(claims: Iterable[HonestClaim], indexes: Path) -> list[Remark]:
    """Search for each claim in its index, and return what the search says."""
    remarks = []
    with ExitStack() as stack:
        opened: dict[str, Index] = {}
        for claim in claims:
            if claim.index not in opened:
                opened[claim.index] = stack.enter_context(
                    open_index(indexes / f"example-{claim.index}")
                )
            answer = opened[claim.index].answer(Question(claim.text, highlight=False))
            remarks.append(
                Remark(
                    claim,
                    first=answer.hits[0].docid if answer.hits else "",
                    related=answer.related,
                    absent_words=answer.absent_words,
                    has_note="looks like" in answer.note,
                )
            )
    return remarks


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "indexes", type=Path, nargs="?", default=Path("indexes"), help="the example indexes"
    )
    parser.add_argument("--tweets", action="store_true", help="search with tweets of CheckThat!")
    parser.add_argument("--all", action="store_true", help="print what is said of each claim")
    return parser


def _claims_file() -> Path:
    file = os.environ.get("FACTSEEK_CLAIMS", "")
    if not Path(file or "-").is_file():
        raise UsageError(f"FACTSEEK_CLAIMS names no file: {file!r}; set it to a table of claims")
    return Path(file)


def main() -> None:
    """Print the figures of a table of claims."""
    args = _parser().parse_args()
    if args.tweets:
        with TemporaryDirectory() as work:
            remarks = remarks_on(build_tweets(Path(work)), Path(work))
    else:
        remarks = remarks_on(read_claims(_claims_file()), args.indexes)
    if args.all:
        for each in remarks:
            said = "denied" if each.denied else ", ".join(each.absent_words)
            note = " (note)" if each.has_note else ""
            write(f"{each.claim.covered}\t{each.is_right}\t{said}{note}\t{each.claim.text}\n")
    rates = Rates.of(remarks)
    write(
        f"covered {rates.covered}, first hit right {rates.right}, denied {rates.denied} "
        f"({rates.denied_right} right), line {rates.lines}; near: {rates.near_said} of "
        f"{rates.near} said; far: {rates.far_said} of {rates.far} said\n"
    )


if __name__ == "__main__":
    main()
