"""Passages: sequences of whole sentences, about as long as an encoder's input, with positions in
the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from ..core.domain import Document, Span
from ..core.parts import parts_of
from ..retrieval.sentences import SentenceSpan, sentences
from .settings import PassageSettings

_SHORTEST_TAIL = 0.2  # a remainder shorter than this share of a passage joins the passage before it


def whole(text: str) -> tuple[Span, ...]:
    """Return the span of the only passage of a document that is not split: its whole text."""
    return (Span(0, 0, len(text)),)


def split(text: str, words: int = 200, overlap: int = 1) -> tuple[Span, ...]:
    """Split a text into passages of whole sentences of about ``words`` words.

    Each passage repeats the last ``overlap`` sentences of the previous one. A sentence longer than
    a passage is cut between words. Every word of the text is in some passage. A text without words
    is one passage.
    """
    sentence_spans = list(sentences(text, words))
    if not sentence_spans:
        return whole(text)
    groups = _groups(sentence_spans, words, overlap)
    return tuple(
        Span(i, sentence_spans[first].start, sentence_spans[last].end)
        for i, (first, last) in enumerate(groups)
    )


def spans_of(
    document: Document, settings: PassageSettings, split_text: bool | None
) -> tuple[Span, ...]:
    """Return the passages of a document.

    Each part of its text has passages of its own: a claim is never in one with what was found. The
    first part is split if ``split_text`` is true. The others are split too, unless it is false:
    what a fact-checker found may be long.
    """
    first, *others = parts_of(document.text, document.metadata)
    if not others and not split_text:
        return whole(document.text)
    spans: list[Span] = []
    for part in (first, *others):
        is_split = split_text is True or (split_text is None and part is not first)
        text = document.text[part.start : part.end]
        own = split(text, settings.words, settings.overlap_sentences) if is_split else whole(text)
        for span in own:
            spans.append(Span(len(spans), part.start + span.start, part.start + span.end))
    return tuple(spans)


def _groups(
    sentence_spans: list[SentenceSpan], words: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last sentence of each passage."""
    left = list(accumulate((sentence.words for sentence in reversed(sentence_spans)), initial=0))[
        ::-1
    ]
    first = 0
    while True:
        last, count = first, sentence_spans[first].words
        while last + 1 < len(sentence_spans) and count + sentence_spans[last + 1].words <= words:
            last += 1
            count += sentence_spans[last].words
        if left[last + 1] < words * _SHORTEST_TAIL:
            yield first, len(sentence_spans) - 1
            return
        yield first, last
        # The next passage must add at least one new sentence, even if the repeated ones are long.
        room, repeated = words - sentence_spans[last + 1].words, 0
        while repeated < min(overlap, last) and sentence_spans[last - repeated].words <= room:
            room -= sentence_spans[last - repeated].words
            repeated += 1
        first = last + 1 - repeated
