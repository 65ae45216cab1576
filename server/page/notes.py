"""The notes of searches and rankers in the words of the page.

A note is an English sentence for every client, with the names of the field. The page says the same
to its readers in plain words, in their language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...retrieval.search.absent_words import is_number, nearly_equal
from .i18n import name_of_language, translate


class _Plain(NamedTuple):
    """A pattern of notes, and the English text of the page in its place."""

    note: re.Pattern[str]
    text: str


_PLAIN: Sequence[_Plain] = (
    _Plain(
        re.compile(
            r"the query looks like (?P<language>.+?), the documents are in (?P<documents>.+?), "
            r"and the vectors of this index are for (?P<known>[^(]+?) \(.*"
        ),
        "These documents are in {documents} and your text looks {language}. Meaning search knows "
        "only {known} here; names and numbers still match.",
    ),
    _Plain(
        re.compile(r"no other passage contains a word of this document"),
        "No other document contains a word of this one.",
    ),
    _Plain(
        re.compile(r"the analyzer \S+ drops every word of this query"),
        "All words of your text are too common to search for.",
    ),
    _Plain(
        re.compile(r"the text is in (?P<language>.+), but the ranker learned from (?P<known>.+)"),
        "This text is in {language}, but the model has learned only {known}.",
    ),
    _Plain(
        re.compile(r"\S+ does not use words, so no word has a weight"),
        "This model does not show which words weigh most.",
    ),
    _Plain(
        re.compile(
            r"the time was too short to weigh the words of the last (?P<late>\d+) of "
            r"(?P<all>\d+) claims"
        ),
        "The time was too short to show the words of the last {late} of {all} texts.",
    ),
    _Plain(
        re.compile(
            r"the time was too short to look for fact-checks of the last (?P<late>\d+) of "
            r"(?P<all>\d+) claims"
        ),
        "The time was too short to look for fact-checks of the last {late} of {all} texts.",
    ),
    _Plain(re.compile(r"no evidence was found"), "No evidence was found."),
    _Plain(
        re.compile(
            r"no label is probable enough: (?P<label>.+) has (?P<share>[0-9.]+), but "
            r"(?P<least>[0-9.]+) is needed"
        ),
        "No label is probable enough: {label} has {share}, but {least} is needed.",
    ),
    _Plain(
        re.compile(r"the evidence does not state (?P<number>\S+), which is a number in the claim"),
        "The evidence does not state {number}, which is a number in the claim.",
    ),
    _Plain(
        re.compile(
            r"the evidence contains (?P<there>\d+) of the (?P<all>\d+) words of the claim, "
            r"excluding stop words"
        ),
        "The evidence contains {there} of the {all} words of the claim, excluding stop words.",
    ),
)
_PROBLEMS: Sequence[_Plain] = (
    _Plain(
        re.compile(r"the query has only conditions; add words to search for"),
        "The query has only conditions; add words to search for",
    ),
    _Plain(
        re.compile(r"the (claim|query '.*') contains no words to search for"),
        "The text contains no words to search for",
    ),
    _Plain(
        re.compile(r"the query has (?P<length>\d+) characters, but at most (?P<most>\d+) are .*"),
        "The text has {length} characters, but at most {most} are allowed",
    ),
    _Plain(
        re.compile(
            r"(\w+: |as-of )?'(?P<date>.*)' is not a date of the form 2020-03-01, 2020-03 or 2020"
        ),
        "“{date}” is not a date of the form 2020-03-01, 2020-03 or 2020",
    ),
    _Plain(
        re.compile(r"there is no document '(?P<docid>.*)' in this index"),
        "There is no document “{docid}” in this index",
    ),
)
"""The frequent problems of a text or a date. Others stay English on a page in another language."""
_LABEL = "label"  # the field of a text that is a label of a verdict
_OF_LANGUAGES = ("language", "documents", "known")  # the fields of a text that name languages


class AbsentWord(NamedTuple):
    """A word of a text that no document contains; ``nearly`` is a nearly equal number that
    occurs, if there is one.
    """

    word: str
    nearly: str


def show_absent_words(words: Iterable[str], texts: Sequence[str]) -> list[AbsentWord]:
    """Return absent words with the nearly equal numbers that occur in the ``texts`` of hits."""
    return [
        AbsentWord(word, nearly_equal(word, texts) if is_number(word) else "") for word in words
    ]


def plain_note(language: str, note: str) -> str:
    """Return notes, each on a line of its own, as the page says them in a language.

    A note for which the page has no words stays as it is, as a sentence.
    """
    return " ".join(_plain_line(language, line) for line in note.splitlines())


def plain_problem(language: str, problem: str) -> str:
    """Return a problem, without a full stop, as the page says it in a language.

    In English, it stays as it is.
    """
    if language == "en":
        return problem
    return _reword(language, problem, _PROBLEMS) or translate(language, problem)


def _plain_line(language: str, note: str) -> str:
    as_it_is = f"{note[:1].upper()}{note[1:]}." if note else ""
    return _reword(language, note, _PLAIN) or as_it_is


def _reword(language: str, note: str, patterns: Sequence[_Plain]) -> str:
    """Return a note in the words of the first pattern that it has, ``""`` if it has none."""
    for plain in patterns:
        if match := plain.note.fullmatch(note):
            values = {
                name: _say(language, name, value) for name, value in match.groupdict().items()
            }
            return translate(language, plain.text, **values)
    return ""


def _say(language: str, field: str, value: str) -> str:
    if field in _OF_LANGUAGES:
        return _named(language, value)
    return translate(language, value) if field == _LABEL else value


def _named(language: str, codes: str) -> str:
    """Return languages, written as codes or English names with commas, in a language."""
    names = [name_of_language(code) for code in codes.split(", ")]
    return ("، " if language == "ar" else ", ").join(translate(language, name) for name in names)
