"""How often a tweet finds the fact-check of its claim, and how often that is the right one.

``python -m benchmarks.checked_before INDEX`` needs FACTSEEK_DATA, and an index of the verified
claims of CheckThat! 2020 task 2 (``factseek index claims``). Each tweet is looked up twice: among
all claims, and without its own claim. A match without it is wrong. Claims with the same words as
the tweet's claim count as this claim: the collection has some twice.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.measuring import WRITE, program, publish
from factseek import open_index
from factseek.claims.checked import LIKENESS, REVIEWS, match
from factseek.core.records.qrels import read_qrels
from factseek.eval.files.topics import read_queries
from factseek.retrieval.search.index import Index

TASK = "ct2020-task2"
LOOKED_AT = 20
"""The number of claims to look at: a tweet's own claim has at most a few copies."""


class Matches(NamedTuple):
    """The tweets of a split, and how many of them match a claim, rightly and wrongly."""

    tweets: int
    right: int
    wrong: int

    @property
    def precision(self) -> float:
        """The share of the matches that are right."""
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        """The share of the tweets that find their claim when it is there."""
        return self.right / self.tweets


@program(("index", {"type": Path, "help": "the index of the verified claims"}), WRITE)
def main(args: argparse.Namespace) -> None:
    """Print the precision and the recall of each split."""
    data = Path(os.environ["FACTSEEK_DATA"]) / TASK
    lines = [
        f"| CheckThat! 2020 task 2, likeness at least {LIKENESS} | tweets | right | wrong | "
        "precision | recall |",
        "|---|---|---|---|---|---|",
    ]
    with open_index(args.index) as index:
        texts = {document.docid: document.text for document in index.documents()}
        for split in ("train", "dev"):
            found = measure(index, texts, data / split)
            lines.append(
                f"| {split} | {found.tweets} | {found.right} | {found.wrong} | "
                f"{found.precision:.3f} | {found.recall:.3f} |"
            )
    publish("checked-before", "\n".join(lines), document=args.write)


def measure(index: Index, texts: dict[str, str], folder: Path) -> Matches:
    """Look up each tweet of a split with and without its claim."""
    copies = defaultdict[str, set[str]](set)
    for docid, text in texts.items():
        copies[_words(text)].add(docid)
    tweets = {query.qid: query.text for query in read_queries(folder / "tweets.queries.tsv")}
    judged = read_qrels(folder / "tweet-vclaim-pairs.qrels")
    options = replace(REVIEWS, k=LOOKED_AT)
    right = wrong = 0
    ranked = index.search(list(tweets.values()), options)
    for (qid, tweet), hits in zip(tweets.items(), ranked, strict=True):
        own = {copy for docid in judged[qid] for copy in copies[_words(texts[docid])]}
        others = [hit for hit in hits if hit.docid not in own]
        for remaining in (hits, others):
            if found := match(TASK, index, tweet, remaining[0]):
                right += found.docid in own
                wrong += found.docid not in own
    return Matches(len(tweets), right, wrong)


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


if __name__ == "__main__":
    main()
