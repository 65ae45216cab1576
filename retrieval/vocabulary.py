"""Words and their terms, as an analyzer makes them, remembered both ways within a bounded memory."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, count
from operator import add
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

MOST_REMEMBERED = 400_000
"""Chunks, words and terms together; then what was remembered is dropped, and remembered anew as it comes."""
LONGEST_REMEMBERED = 100  # characters: in a script without blanks a word may be a whole text
MOST_BYTES_OF_TEXTS = 16 << 20
"""Bytes that texts and the numbers of their chunks may take; then all are dropped."""
_FEW_CHUNKS = 32  # that are looked for one by one: of more, the text is read once
_BLANKS = frozenset(["", *filter(str.isspace, map(chr, range(0x3001)))])
_PARSED = 8_192  # chunks whose words are remembered with their places
MOST_SEEN = 65_536
"""Texts of which it is known that they were there."""
_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:['.][A-Za-z0-9]+)*")  # the same, faster

Analyze = Callable[[Sequence[str]], Sequence[tuple[str, ...]]]
"""An analyzer: from words to the terms of each."""
Terms = dict[str, tuple[str, ...]]
"""Words, each with its terms."""
Matcher = Callable[[str], Terms]
"""From a text to those of its words that have a wanted term."""
Stretch: TypeAlias = tuple[int, int]
"""The beginning and the end of a stretch of a text, in characters."""
Finder = Callable[[str], list[Stretch]]
"""From a text to stretches of it, in order."""
Inside = Callable[[str, tuple[str, ...]], Sequence[Stretch]]
"""From a word that has a wanted term, and all its terms, to the stretches of the word that are meant."""


def word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a word of ``text``."""
    return _ASCII_WORD if text.isascii() else _WORD


def words_of(text: str) -> list[str]:
    """Return the words of ``text``, in order."""
    return word_pattern(text).findall(text)


def _whole(word: str, _: tuple[str, ...]) -> Sequence[Stretch]:
    return ((0, len(word)),)


class Vocabulary:
    """The terms of a word, and the words of a text that have certain terms. Safe for threads.

    To analyse a word takes a thousand times as long as to look it up, and to find the words of a text several times as
    long as to cut it at its blanks. So words are remembered with their terms, and so are chunks, which is what stands
    between two blanks, and texts as the chunks that they were cut into: what is found once is often found again.
    """

    def __init__(self, analyze: Analyze, most: int = MOST_REMEMBERED) -> None:
        """Remember at most ``most`` chunks, words and terms; ``analyze`` makes the terms of words."""
        self._analyze = analyze
        self._most = most
        self._adding = threading.Lock()
        self._memory = _Memory()

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the terms of ``word``: none for a stop word."""
        known = self._memory.terms.get(word)
        return self._learned({word: [word]})[word] if known is None else known

    def matcher(self, wanted: frozenset[str]) -> Matcher:
        """Return a function from a text to its words that have a term among ``wanted``, each with all its terms."""
        places = self.finder(wanted)

        def matching(text: str) -> Terms:
            return {word: self(word) for word in {text[start:end] for start, end in places(text)}}

        return matching

    def finder(self, wanted: frozenset[str], inside: Inside = _whole) -> Finder:
        """Return a function from a text to where its words stand that have a term among ``wanted``, in order.

        Of each it gives what ``inside`` does, which is asked once a word and is the whole word if it is left out.
        """
        known = _Known(self._memory, wanted, inside)

        def stretches(text: str) -> list[Stretch]:
            nonlocal known
            cut = self._cut(text)
            if cut is None:
                return self._word_by_word(text, wanted, inside)
            # Only now: a chunk that another thread has just made known is among those of its terms as well.
            if not known.is_current(cut.memory):
                known = _Known(cut.memory, wanted, inside)
            return known.stretches(cut)

        return stretches

    def _cut(self, text: str) -> _CutText | _KnownText | None:
        """Return a text cut at its blanks, or None if a chunk is too long to be remembered, or there is no room."""
        memory = self._memory
        known = memory.texts.get(text)
        if known is not None:
            return known
        chunks = text.split()
        if not memory.known.issuperset(chunks):
            unknown = set(chunks).difference(memory.known)
            self._learned({chunk: words_of(chunk) for chunk in sorted(unknown)})
            memory = self._memory
            if not memory.known.issuperset(chunks):
                return None
        cut = _CutText(memory, text, chunks)
        if memory.comes_again(text):
            with self._adding:
                memory.add_text(text, cut)
        return cut

    def _word_by_word(self, text: str, wanted: frozenset[str], inside: Inside) -> list[Stretch]:
        terms = self._learned({word: [word] for word in sorted(set(words_of(text)))})
        return _inside(text, terms, wanted, inside)

    def _learned(self, chunks: dict[str, list[str]]) -> Terms:
        """Return the words of chunks with their terms; remember them while there is room."""
        memory = self._memory
        words = sorted({word for words in chunks.values() for word in words})
        terms = {word: memory.terms[word] for word in words if word in memory.terms}
        unknown = [word for word in words if word not in terms]
        terms.update(zip(unknown, self._analyze(unknown), strict=True))
        with self._adding:
            if self._memory.size >= self._most:
                self._memory = _Memory()
            for chunk, inside in chunks.items():
                if self._memory.size < self._most:
                    self._memory.add(chunk, inside, terms)
        return terms


class _CutText(NamedTuple):
    """A text and its chunks, which are all known to a memory."""

    memory: _Memory
    text: str
    chunks: list[str]

    def places(self, wanted: _WantedChunks) -> Iterable[tuple[int, int]]:
        """Return where wanted chunks begin, in order, each with its number."""
        held, numbers = wanted.names.intersection(self.chunks), self.memory.numbers
        if len(held) <= _FEW_CHUNKS:
            return sorted((start, numbers[chunk]) for chunk in held for start in _places(chunk, self.text))
        placed = zip(_starts(self.text, self.chunks), self.chunks, strict=True)
        return [(start, numbers[chunk]) for start, chunk in placed if chunk in held]


class _KnownText(NamedTuple):
    """A text as the numbers of its chunks, and where each begins."""

    memory: _Memory
    numbers: NDArray[np.uint32]
    starts: NDArray[np.uint32]

    def places(self, wanted: _WantedChunks) -> Iterable[tuple[int, int]]:
        """Return where wanted chunks begin, in order, each with its number."""
        hits = wanted.flags[self.numbers].nonzero()[0]
        return zip(self.starts[hits].tolist(), self.numbers[hits].tolist(), strict=True)


def _starts(text: str, chunks: Sequence[str]) -> Iterable[int]:
    """Return where the chunks of a text begin."""
    if len(text) == sum(map(len, chunks)) + len(chunks) - 1:  # one blank between two of them, and nowhere else
        return map(add, accumulate(map(len, chunks[:-1]), initial=0), count())
    return _sought(text, chunks)


def _places(chunk: str, text: str) -> list[int]:
    """Return where a chunk stands in a text, between blanks."""
    places, length, start = [], len(chunk), text.find(chunk)
    while start >= 0:
        end = start + length
        if text[start - 1 : start] in _BLANKS and text[end : end + 1] in _BLANKS:
            places.append(start)
        start = text.find(chunk, end)
    return places


def _sought(text: str, chunks: Sequence[str]) -> Iterator[int]:
    end = 0
    for chunk in chunks:
        start = text.index(chunk, end)
        yield start
        end = start + len(chunk)


class _Memory:
    """The memory of a vocabulary: the terms of words, the known chunks, the chunks in which each term stands, texts."""

    def __init__(self) -> None:
        self.terms: Terms = {}
        self.numbers: dict[str, int] = {}
        self.chunks: list[str] = []
        """The known chunks by their numbers."""
        self.known: set[str] = set()
        """The same chunks: whether all of a text are known is soonest found of a set."""
        self.chunks_of: dict[str, dict[str, int]] = {}
        """The chunks in which each term stands, with their numbers."""
        self.texts: dict[str, _KnownText] = {}
        self.size = 0
        self._seen: set[int] = set()
        self._bytes_of_texts = 0

    def add(self, chunk: str, words: Iterable[str], terms: Terms) -> None:
        """Remember a chunk and its words, with the ``terms`` of each, unless they are too long."""
        for word in words:
            if len(word) <= LONGEST_REMEMBERED and word not in self.terms:
                self.terms[word] = terms[word]
                self.size += 1 + len(terms[word])
        if len(chunk) > LONGEST_REMEMBERED or chunk in self.numbers:
            return
        number, made = len(self.chunks), {term for word in words for term in terms[word]}
        self.chunks.append(chunk)
        for term in made:
            self.chunks_of.setdefault(term, {})[chunk] = number
        self.size += 1 + len(made)
        self.numbers[chunk] = number
        # This comes last: a thread that finds a chunk known finds its words, and finds it by each of its terms.
        self.known.add(chunk)

    def comes_again(self, text: str) -> bool:
        """Return whether a text was there before, as far as its hash says: what comes but once is not remembered."""
        digest = hash(text)
        if digest in self._seen:
            return True
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen.add(digest)
        return False

    def add_text(self, text: str, cut: _CutText) -> None:
        """Remember a text."""
        chunks = cut.chunks
        numbers = np.fromiter(map(self.numbers.__getitem__, chunks), np.uint32, len(chunks))
        starts = np.fromiter(_starts(text, chunks), np.uint32, len(chunks))
        size = sum(map(sys.getsizeof, (text, numbers, starts)))
        if size > MOST_BYTES_OF_TEXTS:
            return
        self._bytes_of_texts += size
        if self._bytes_of_texts > MOST_BYTES_OF_TEXTS:
            self.texts, self._bytes_of_texts = {}, size
        self.texts[text] = _KnownText(self, numbers, starts)


class _Known:
    """Those of the chunks remembered at one moment in which a wanted term stands."""

    def __init__(self, memory: _Memory, wanted: frozenset[str], inside: Inside) -> None:
        self.memory = memory
        self._size = memory.size
        self._chunks = _WantedChunks(memory, wanted)
        self._inside = _InsideChunks(memory, wanted, inside)

    def is_current(self, memory: _Memory) -> bool:
        """Return whether nothing was remembered since."""
        return self.memory is memory and self._size == memory.size

    def stretches(self, cut: _CutText | _KnownText) -> list[Stretch]:
        """Return the stretches of the words of a text that have a wanted term."""
        inside, places = self._inside, cut.places(self._chunks)
        return [(start + first, start + last) for start, number in places for first, last in inside[number]]


class _WantedChunks:
    """The chunks that hold a wanted term: by name, and a flag for each number."""

    def __init__(self, memory: _Memory, wanted: frozenset[str]) -> None:
        self._of_terms = [dict(memory.chunks_of.get(term, ())) for term in wanted]
        self._known = len(memory.chunks)

    @cached_property
    def names(self) -> frozenset[str]:
        """The chunks themselves."""
        return frozenset().union(*self._of_terms)

    @cached_property
    def flags(self) -> NDArray[np.bool_]:
        """Whether a chunk is wanted, by its number."""
        flags = np.zeros(self._known, dtype=np.bool_)
        for chunks in self._of_terms:
            flags[list(chunks.values())] = True
        return flags


class _InsideChunks(dict[int, list[Stretch]]):
    """The stretches of a chunk by its number: of its words that have a wanted term; found when it is first asked."""

    def __init__(self, memory: _Memory, wanted: frozenset[str], inside: Inside) -> None:
        super().__init__()
        self._memory = memory
        self._wanted = wanted
        self._inside = inside

    def __missing__(self, number: int) -> list[Stretch]:
        stretches = _inside(self._memory.chunks[number], self._memory.terms, self._wanted, self._inside)
        self[number] = stretches
        return stretches


def _inside(text: str, terms: Terms, wanted: frozenset[str], inside: Inside) -> list[Stretch]:
    """Return the stretches of the words of a text, whose ``terms`` are given, that have a wanted term."""
    placed = _placed_words(text) if len(text) <= LONGEST_REMEMBERED else _words_with_places(text)
    return [
        (start + first, start + last)
        for start, word in placed
        if not wanted.isdisjoint(terms[word])
        for first, last in inside(word, terms[word])
    ]


def _words_with_places(text: str) -> Sequence[tuple[int, str]]:
    """Return the words of a text, each with where it begins."""
    return tuple((match.start(), match[0]) for match in word_pattern(text).finditer(text))


_placed_words = lru_cache(maxsize=_PARSED)(_words_with_places)
