"""Pairs of a text and a claim to learn entailment from: the annotated sentences, and sentences that a search finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from ...retrieval.domain import Claim, Hit
from ...retrieval.entailment import CONTRADICTS, ENTAILS, LABELS, NEUTRAL
from ...retrieval.errors import NotFoundError, QueryError
from ...retrieval.progress import Progress
from ...retrieval.searcher import Search, Searcher
from ...retrieval.signatures import disagreements, most_disagreements, signatures_of
from ..models.candidates import NEAR_COPY
from ..models.request import ModelTraining

_AT_ONCE = 64
_MOST_GROUPS = 3
"""Groups of evidence of one claim that are learned from."""
_STANCES = {"SUPPORTS": ENTAILS, "REFUTES": CONTRADICTS}


class EntailmentPair(NamedTuple):
    """A text, a claim, and what the text says of it: the number of the label in ``LABELS``."""

    text: str
    claim: str
    label: int


class PairedClaim(NamedTuple):
    """A claim with its pairs, and its row among the claims that were read."""

    row: int
    claim: Claim
    pairs: tuple[EntailmentPair, ...]


class ReadPairs(NamedTuple):
    """The claims that have pairs, and the pages of evidence that the index lacks."""

    claims: list[PairedClaim]
    missing: list[str]


def read_pairs(index: Searcher, claims: Sequence[Claim], settings: ModelTraining, progress: Progress) -> ReadPairs:
    """Return the pairs of each claim: of each group of its evidence, and of ``settings.negatives`` found sentences.

    These are of other pages than the evidence, and leave the claim open; a claim that is not decided has one more of
    them. Raises QueryError if a claim is longer than a query may be.
    """
    refuse_long(index, claims)
    paired: list[PairedClaim] = []
    missing: dict[str, None] = {}
    with closing(progress("finding evidence", "claims", len(claims))) as bar:
        for start in range(0, len(claims), _AT_ONCE):
            chunk = claims[start : start + _AT_ONCE]
            for row, claim, hits in zip(range(start, len(claims)), chunk, _hits(index, chunk, settings), strict=False):
                texts, lacking = _evidence(index, claim)
                missing.update(dict.fromkeys(lacking))
                pairs = tuple(_pairs(claim, texts, _others(index, claim, hits, texts), settings))
                if pairs:
                    paired.append(PairedClaim(row, claim, pairs))
            bar.update(len(chunk))
    return ReadPairs(paired, list(missing))


def refuse_long(index: Searcher, claims: Sequence[Claim]) -> None:
    """Raise QueryError, naming the place, if a claim is longer than a query may be."""
    longest = index.settings.search.max_query_chars
    for claim in claims:
        if len(claim.text) > longest:
            raise QueryError(
                f"the claim has {len(claim.text)} characters, at most {longest} are searched (search.max_query_chars)",
                place=claim.place,
            )


def _pairs(
    claim: Claim, texts: Sequence[str], others: Sequence[str], settings: ModelTraining
) -> Iterator[EntailmentPair]:
    stance = _STANCES.get(claim.label)
    if stance:
        yield from (EntailmentPair(text, claim.text, LABELS.index(stance)) for text in texts)
    open_ones = others[: settings.negatives + (stance is None)] if texts or stance is None else ()
    yield from (EntailmentPair(text, claim.text, LABELS.index(NEUTRAL)) for text in open_ones)


def _hits(index: Searcher, claims: Sequence[Claim], settings: ModelTraining) -> list[list[Hit]]:
    """Return the passages that are found for each claim; none for one that holds no words."""
    search = Search(k=settings.depth, group=False)
    resolved = index.resolve(search)
    worded = [claim.text for claim in claims if resolved.has_words(claim.text)]
    hits_of: Mapping[str, list[Hit]] = dict(zip(worded, index.search(worded, search), strict=True)) if worded else {}
    return [hits_of.get(claim.text, []) for claim in claims]


def _evidence(index: Searcher, claim: Claim) -> tuple[list[str], list[str]]:
    """Return the text of each of the first groups of a claim's evidence, and the pages that the index lacks."""
    texts, missing = [], []
    for group in claim.groups[:_MOST_GROUPS]:
        try:
            passages = {
                docid: {passage.number: passage.text for passage in index.passages(docid)} for docid, _ in group
            }
        except NotFoundError:
            missing += [docid for docid, _ in group if not _has(index, docid)]
            continue
        sentences = [passages[docid].get(number, "") for docid, number in group]
        if all(sentences):
            texts.append(" ".join(sentences))
        else:
            missing += [docid for docid, number in group if number not in passages[docid]]
    return list(dict.fromkeys(texts)), missing


def _has(index: Searcher, docid: str) -> bool:
    try:
        index.document(docid)
    except NotFoundError:
        return False
    return True


def _others(index: Searcher, claim: Claim, hits: Sequence[Hit], texts: Sequence[str]) -> list[str]:
    """Return the found passages, best first, of pages without evidence, that are no near-copies of evidence."""
    pages = {docid for group in claim.groups for docid, _ in group}
    elsewhere = [hit for hit in hits if hit.docid not in pages]
    shown = index.evidence(claim.text, elsewhere, Search(group=False), highlight=False)
    others = list(dict.fromkeys(evidence.passage.text for evidence in shown))
    if not others or not texts:
        return others
    signatures = signatures_of(others)
    nearest = [disagreements(signatures, signature) for signature in signatures_of(list(texts))]
    least = most_disagreements(NEAR_COPY)
    return [text for at, text in enumerate(others) if min(int(far[at]) for far in nearest) > least]
