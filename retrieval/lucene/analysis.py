"""Analysis: Lucene's analyzers by name, the words of a text with their terms, and the positions of
a query's words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from ...core import languages
from ...core.errors import ConfigError
from ...core.folding import fold, folded_with_places
from ...core.letters import fold_letters, has_spellings, spellings, split_numbers
from ...core.text import marks
from ..store.signatures import UNSPACED
from .chunks import ChunkCache, Place
from .jvm import java, pack, unpack

_LUCENE = "org.apache.lucene.analysis"
_PACKAGES = dict(
    pair.split("=")
    for pair in (
        "arabic=ar armenian=hy basque=eu bengali=bn brazilian=br bulgarian=bg catalan=ca czech=cz "
        "danish=da dutch=nl "
        "estonian=et finnish=fi french=fr galician=gl german=de greek=el hindi=hi hungarian=hu "
        "indonesian=id irish=ga "
        "italian=it japanese=ja latvian=lv lithuanian=lt nepali=ne norwegian=no persian=fa "
        "portuguese=pt romanian=ro "
        "russian=ru serbian=sr sorani=ckb spanish=es swedish=sv tamil=ta telugu=te turkish=tr"
    ).split()
)
ANALYZERS: dict[str, str] = {
    **{name: f"{_LUCENE}.{package}.{name.title()}Analyzer" for name, package in _PACKAGES.items()},
    "cjk": f"{_LUCENE}.cjk.CJKAnalyzer",
    "english": "io.anserini.analysis.DefaultEnglishAnalyzer",
    "simple": f"{_LUCENE}.core.SimpleAnalyzer",
    "standard": f"{_LUCENE}.standard.StandardAnalyzer",
    "thai": "factseek.ClusterAnalyzer",
    "whitespace": f"{_LUCENE}.core.WhitespaceAnalyzer",
}
"""The Java class of each analyzer; ``english`` is Anserini's, which gives the published scores;
``thai`` is our own.
"""
LANGUAGES: dict[str, str] = {
    **{
        "cs": "czech",
        "en": "english",
        "ko": "cjk",
        "zh": "cjk",
        "nb": "norwegian",
        "nn": "norwegian",
    },
    **dict.fromkeys(("th", "lo", "km", "my"), "thai"),
    **{package: name for name, package in _PACKAGES.items() if name not in ("brazilian", "czech")},
}
"""The analyzer of each language, by ISO 639 code."""


ANALYSIS = 2
"""The version of the analysis of new indexes.

Version 1 folds texts. Version 2 also gives a letter one form and splits numbers from words
(:mod:`factseek.core.letters`), and an index contains the other spellings of words.
"""
ANALYSES = (1, 2)


class Analysis(NamedTuple):
    """How an index makes terms of texts: an analyzer of :data:`ANALYZERS`, and a version."""

    analyzer: str
    version: int = ANALYSIS


def language_code(written: str) -> str:
    """Return the ISO 639 code of a tag such as ``en``, ``en-US`` or ``eng``.

    Raises ConfigError if the tag has none.
    """
    code = languages.language_code(written)
    if code and re.fullmatch(r"\s*[A-Za-z]{2,3}\s*([-_].*)?", written, re.DOTALL):
        return code
    remedy = (
        f"say {code}"
        if code
        else "use a code such as en or ar; to name an analyzer, use --analyzer"
    )
    raise ConfigError(f"language {written!r} is not a code of ISO 639", remedy=remedy)


def analyzer_name(language: str, analyzer: str = "") -> str:
    """Return the name of an analyzer: the chosen one, else the one of ``language``, else
    ``standard``.

    ``analyzer`` is a name or a language code. Raises ConfigError if it is unknown.
    """
    if not analyzer:
        return LANGUAGES.get(language, "standard")
    name = LANGUAGES.get(analyzer.lower(), analyzer.lower())
    if name not in ANALYZERS:
        remedy = f"the analyzers are {', '.join(sorted(ANALYZERS))}"
        raise ConfigError(f"index.analyzer: there is no analyzer {analyzer!r}", remedy=remedy)
    return name


# The maximum number of words and chunks in memory; a cache that exceeds it is emptied.
MOST_REMEMBERED = 200_000
# The maximum length of a cached word: in a script without spaces a word may be a whole text.
LONGEST_REMEMBERED = 100
# The number of characters to highlight at once: analysing new words takes a few tenths of a second.
PIECE = 50_000
_BLANK, _CHUNK = re.compile(r"\s"), re.compile(r"\S+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:['.][A-Za-z0-9]+)*")
# The analyzers for which a zero-width non-joiner (U+200C) has a meaning.
_READ_JOINERS = ("persian", "sorani")
_JOINT = re.compile(r"[:._,'](?:(?<=\w[:._])(?=\w)|(?<=\d[,'])(?=\d\d\d))")
_JOINED = re.compile(r"\w+(?:[:.]\w+)*")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}([',.])\d{3}(?:\1\d{3})*(?:[.,]\d+)?(?![.,]?\w)")
_PART = re.compile(r"[^\W_]+")
_JOINER = "\u200c"
LETTER = re.compile(f"{UNSPACED.pattern}|[\uac00-\ud7af]")
"""A letter of a script without spaces between words, or of one whose letters may be words, such as
Korean.
"""
Analyze = Callable[[Sequence[str]], Sequence[tuple[str, ...]]]  # Return the terms of each word
Terms = dict[str, tuple[str, ...]]  # words, each with its terms
# A word in a folded chunk, and its sources' places.
WordPlace = tuple[int, int, str, tuple[str, ...], list[int], list[int]]
Stretch = tuple[int, int]  # the start and the end of a slice of a text, in characters
# Return the slices of a text that match a query, in order.
Highlighter = Callable[[str], list[Stretch]]


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word in any script; it may contain combining marks and zero-width
    non-joiners.
    """
    # In Hebrew, a double quote is a part of an abbreviation.
    quote = '(?<=[\u05d0-\u05ea])[\u05f4"](?=[\u05d0-\u05ea])'
    letters = rf"[^\W_](?:[^\W_]|[{marks()}\u200c]|{quote})*"
    return re.compile(rf"{letters}(?:['.]{letters})*")


def words_of(text: str) -> list[str]:
    """Return the words of ``text``, folded, in order."""
    return _ASCII_WORD.findall(text) if text.isascii() else _word().findall(fold(text))


def parts_of(text: str) -> str:
    """Return the parts of those words of a folded text that Lucene does not split, separated by
    spaces.

    Examples are ``Measles`` in ``BREAKING:Measles``, and ``polio`` and ``vaccine`` in
    ``polio_vaccine``. The part of a number such as ``657,461`` is the number without its thousands
    separators.
    """
    parts, last = list[str](), 0
    for joint in _JOINT.finditer(text):
        if joint.start() < last:
            continue
        start, last = text.rfind(" ", 0, joint.start()) + 1, text.find(" ", joint.end())
        last = len(text) if last < 0 else last
        parts += [
            number[0].replace(number[1], "") for number in _NUMBER.finditer(text, start, last)
        ]
        for joined in _JOINED.findall(text, start, last):
            several = (
                []
                if joined.isalnum() or not any(map(str.isalpha, joined))
                else _PART.findall(joined)
            )
            parts += several if len(several) > 1 else []
    return " ".join(parts)


def parts_in(analysis: Analysis, text: str, *, numbers: bool) -> str:
    """Return the parts of the words of a document or a query, separated by spaces.

    With ``numbers``, the numbers and words that English text writes together are parts too.
    """
    return parts_in_form(analysis, analysable(analysis, text), text, numbers=numbers)


def parts_in_form(analysis: Analysis, form: str, text: str, *, numbers: bool) -> str:
    """Return :func:`parts_in` a text whose :func:`analysable` form is known."""
    parts = parts_of(form)
    if analysis.version < 2 or not numbers or analysis.analyzer != "english":
        return parts  # other analyzers split numbers from words themselves
    splits = ((word, split_numbers(word, "standard")) for word in words_of(text))
    split = [split for word, split in splits if split != word]
    return " ".join(filter(None, (parts, *(analysable(analysis, each) for each in split))))


def other_spellings(analysis: Analysis, text: str) -> list[str]:
    """Return the other spellings of the words of a text, folded: those of
    :func:`factseek.core.letters.spellings`.
    """
    return _other_spellings(analysis, fold(text))


def _other_spellings(analysis: Analysis, form: str) -> list[str]:
    if analysis.version < 2 or not has_spellings(form):
        return []
    chunks = filter(has_spellings, form.split())  # few of the words have them
    words = (word for chunk in chunks for word in _word().findall(chunk))
    return [each for word in words for each in spellings(word)]


def spellings_in(analysis: Analysis, text: str) -> str:
    """Return the other spellings of the words of a document or a query, as the analyzer reads them,
    separated by spaces.
    """
    return spellings_in_folded(analysis, fold(text))


def spellings_in_folded(analysis: Analysis, folded: str) -> str:
    """Return :func:`spellings_in` a text that is folded."""
    return " ".join(analysable(analysis, each) for each in _other_spellings(analysis, folded))


def query_spellings(analysis: Analysis, query: str) -> str:
    """Return :func:`spellings_in` a query, without those of stop words."""
    if analysis.version < 2 or not has_spellings(fold(query)):
        return ""
    words = list(filter(spellings, words_of(query)))
    made = zip(words, terms_of(analysis, words), strict=True)
    return spellings_in(analysis, " ".join(word for word, terms in made if terms))


def excluded_forms(analysis: Analysis, words: str) -> list[str]:
    """Return the forms of a text to exclude: as the analyzer reads it, and its other spellings."""
    form = analysable(analysis, words)
    if analysis.version < 2:
        return [form]
    others = (analysable(analysis, each) for each in spellings(fold(words)))
    return list(dict.fromkeys((form, *others)))


def _words_and_parts(form: str, *, splits: bool) -> list[tuple[int, int, str]]:
    """Return, with places, the words of a folded text, the parts of words with dots, and numbers
    without separators.

    With ``splits``, the numbers and words that are written together are parts too.
    """
    words = [
        (*match.span(), match[0])
        for match in (_ASCII_WORD if form.isascii() else _word()).finditer(form)
    ]
    named = [
        (start, word) for start, _, word in words if "." in word and any(map(str.isalpha, word))
    ]
    dotted = [(start, part) for start, word in named for part in _PART.finditer(word)]
    parts = [(start + part.start(), start + part.end(), part[0]) for start, part in dotted]
    for start, _, word in words if splits else ():
        if not (word.isalpha() or word.isdecimal()):
            parts += _numbers_and_words(start, word)
    for start, _, word in words if _JOINER in form else ():
        if _JOINER in word:
            pieces = re.finditer(f"[^{_JOINER}]+", word)
            parts += [(start + piece.start(), start + piece.end(), piece[0]) for piece in pieces]
    for start, end, word in words if has_spellings(form) else ():
        parts += [(start, end, each) for each in spellings(word) if " " not in each]
    numbers = [
        (*number.span(), number[0].replace(number[1], "")) for number in _NUMBER.finditer(form)
    ]
    return words + parts + numbers


def _numbers_and_words(start: int, word: str) -> Iterator[tuple[int, int, str]]:
    """Yield the numbers and words in a word that has both, with places."""
    pieces = split_numbers(word, "standard").split(" ")
    for piece in pieces if len(pieces) > 1 else ():
        yield start, start + len(piece), piece
        start += len(piece)


@cache
def open_analyzer(name: str) -> int:
    """Return Java's handle of an analyzer of :data:`ANALYZERS`; it stays open."""
    opened: int = java("Analysis").open(ANALYZERS[name])
    return opened


def fold_words(analysis: Analysis, text: str) -> str:
    """Return a text in the form in which an index compares words."""
    return _with_words_of(analysis, fold(text))


def _with_words_of(analysis: Analysis, form: str) -> str:
    """Return a folded text with the letters and words that an index compares."""
    if analysis.version < 2:
        return form
    return split_numbers(fold_letters(form, analysis.analyzer), analysis.analyzer)


def analysable(analysis: Analysis, text: str) -> str:
    """Return a document or a query in the form that an analyzer reads."""
    return analysable_form(analysis, fold(text))


def analysable_form(analysis: Analysis, folded: str) -> str:
    """Return a folded text in the form that an analyzer reads."""
    form = _with_words_of(analysis, folded)
    return form if analysis.analyzer in _READ_JOINERS else form.replace(_JOINER, "")


def terms_of(analysis: Analysis, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the terms of each text in their order, in one call to Java."""
    forms = [analysable(analysis, text) for text in texts]
    made = unpack(java("Analysis").terms(open_analyzer(analysis.analyzer), pack(forms)))
    return [tuple(terms.split("\0")) if terms else () for terms in made]


class TermCache:
    """A cache of the terms of words and of chunks, which are the texts between two spaces.

    It is safe for threads. Java must be running, because it looks up the chunks. Analysing a word
    takes a thousand times as long as looking it up.
    """

    def __init__(
        self,
        analyze: Analyze,
        most: int = MOST_REMEMBERED,
        *,
        splits: bool = False,
        chunks: ChunkCache | None = None,
    ) -> None:
        """Cache about ``most`` words; ``analyze`` makes the terms of words.

        With ``splits``, a word such as ``10mg`` also matches its number and its word. ``chunks`` is
        a cache that others with the same analysis share.
        """
        self.splits = splits
        self._analyze = analyze
        self._most = most
        self._words: Terms = {}
        self._chunks = chunks or ChunkCache(most, LONGEST_REMEMBERED)
        self._places: dict[str, list[WordPlace]] = {}

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the terms of ``word``: none for a stop word."""
        known = self._words.get(word)
        return self._terms_of([word])[word] if known is None else known

    def matcher(self, wanted: frozenset[str]) -> Callable[[str], Terms]:
        """Return a function from a text to its words with a term in ``wanted``, each with all its
        terms.
        """
        find_chunks = self._chunk_finder(wanted)

        def matching(text: str) -> Terms:
            chunks = {chunk for _, chunk in find_chunks(text)}
            terms = self._terms_of({word for chunk in chunks for word in words_of(chunk)})
            return {word: made for word, made in terms.items() if not wanted.isdisjoint(made)}

        return matching

    def finder(self, wanted: frozenset[str]) -> Highlighter:
        """Return a function from a text to the places of its words that have a term in ``wanted``.

        In a script without spaces, it returns the places of the wanted terms within a word.
        """
        find_chunks = self._chunk_finder(wanted)
        marks_of: dict[str, list[Stretch]] = {}

        def stretches(text: str) -> list[Stretch]:
            places = find_chunks(text)
            marks_of.update(self._marks({chunk for _, chunk in places} - marks_of.keys(), wanted))
            marks = []
            for start, chunk in places:
                for first, last in marks_of[chunk]:
                    marks.append((start + first, start + last))
            return marks

        return stretches

    def _marks(self, chunks: Collection[str], wanted: frozenset[str]) -> dict[str, list[Stretch]]:
        """Return, for each chunk, the places of its words that have a term in ``wanted``."""
        marks = {}
        for chunk in chunks:
            words = self._places.get(chunk)
            if words is None:
                words = self._find_words(chunk)
            if len(words) == 1:  # most chunks are one word
                start, end, _, made, starts, ends = words[0]
                if len(made) == 1 and made[0] in wanted:
                    marks[chunk] = [(starts[start], ends[end - 1])]
                    continue
            marks[chunk] = _marks_among(words, wanted)
        return marks

    def _find_words(self, chunk: str) -> list[WordPlace]:
        """Return the words of a chunk with their places, and remember those of a short chunk."""
        form, starts, ends = folded_with_places(chunk)
        found = _words_and_parts(form, splits=self.splits)
        terms = self._terms_of([word for _, _, word in found])
        words = [(start, end, word, terms[word], starts, ends) for start, end, word in found]
        if len(chunk) <= LONGEST_REMEMBERED:
            self._places[chunk] = words
        return words

    def _chunk_finder(self, wanted: frozenset[str]) -> Callable[[str], list[Place]]:
        """Return a function from a text to its chunks, in order, that may have a wanted term."""
        packed = pack(sorted(wanted))
        letters = list(filter(LETTER.search, wanted))

        def find_chunks(text: str) -> list[Place]:
            places, unknown = self._chunks.find(text, packed)
            if unknown:
                places = sorted(places + self._matching(unknown, wanted))
            if letters and not text.isascii():
                places = sorted({*places, *_places_with(letters, text)})
            return places

        return find_chunks

    def _matching(self, places: Sequence[Place], wanted: frozenset[str]) -> list[Place]:
        """Return those of the places whose chunk has a wanted term, and remember all chunks.

        A long chunk is always returned, and never remembered.
        """
        chunks = {chunk for _, chunk in places if len(chunk) <= self._chunks.longest}
        words_in = {chunk: self._words_in(chunk) for chunk in sorted(chunks)}
        terms_of_word = self._terms_of({word for words in words_in.values() for word in words})
        terms_of = {
            chunk: {term for word in words for term in terms_of_word[word]}
            for chunk, words in words_in.items()
        }
        self._chunks.remember(terms_of)
        return [
            place
            for place in places
            if place.chunk not in terms_of or not wanted.isdisjoint(terms_of[place.chunk])
        ]

    def _words_in(self, chunk: str) -> list[str]:
        return [word for _, _, word in _words_and_parts(fold(chunk), splits=self.splits)]

    def _terms_of(self, words: Collection[str]) -> Terms:
        """Return the terms of words; analyse all new words in one call, and cache the short
        ones.
        """
        terms = {word: made for word in words if (made := self._words.get(word)) is not None}
        if len(self._words) + len(self._places) > self._most:
            self._words, self._places = {}, {}
        if new := sorted(set(words) - terms.keys()):
            terms.update(zip(new, self._analyze(new), strict=True))
            self._words.update(
                (word, terms[word]) for word in new if len(word) <= LONGEST_REMEMBERED
            )
        return terms


def _marks_among(words: Sequence[WordPlace], wanted: frozenset[str]) -> list[Stretch]:
    """Return the places of the words that have a term in ``wanted``, in order, not overlapping."""
    marks = list[Stretch]()
    for start, end, word, made, starts, ends in words:
        for first, last in _inside(word, made, wanted):
            place = (start, end) if last - first == len(word) else (start + first, start + last)
            mark = starts[place[0]], ends[place[1] - 1]
            at = bisect_left(marks, mark)
            if not (at and mark[0] < marks[at - 1][1]) and not (
                at < len(marks) and marks[at][0] < mark[1]
            ):
                marks.insert(at, mark)
    return marks


def _places_with(letters: Sequence[str], text: str) -> Iterator[Place]:
    """Yield the chunks of a text that contain one of the letters, which are terms of their own."""
    for match in _CHUNK.finditer(text):
        chunk = match[0]
        if chunk.isascii():
            continue
        form = fold(chunk)
        if any(letter in form for letter in letters):
            yield Place(match.start(), chunk)


def _inside(word: str, terms: tuple[str, ...], wanted: frozenset[str]) -> list[Stretch]:
    """Return the matches within a word: all of it or, in a script without spaces, the wanted terms
    in it.
    """
    matching = wanted.intersection(terms)
    if matching and len(terms) == 1:
        return [(0, len(word))]
    if not word.isascii():
        matching |= {term for term in wanted if LETTER.search(term) and term in word}
    if not matching:
        return []
    pattern = "|".join(
        re.escape(term) for term in sorted(matching, key=lambda term: (-len(term), term))
    )
    spans = [part.span(1) for part in re.finditer(f"(?=({pattern}))", word, re.IGNORECASE)]
    return _joined(spans) or [(0, len(word))]


def _joined(spans: Sequence[Stretch]) -> list[Stretch]:
    """Return slices, given in order, without overlaps: pairs of letters share letters."""
    joined = list[Stretch]()
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


@cache
def _shared_chunks(_analysis: Analysis, _splits: bool) -> ChunkCache:
    """Return the cache of all indexes with an analysis: the terms of a chunk depend on it alone."""
    return ChunkCache(MOST_REMEMBERED, LONGEST_REMEMBERED)


class Analyzer(TermCache):
    """The analysis of an index, with a cache of its terms."""

    def __init__(self, analysis: Analysis, *, parts: bool = False) -> None:
        """Open the analyzer; ``parts`` says that the index contains the parts of words."""
        self._analysis = analysis
        open_analyzer(analysis.analyzer)
        has_splits = parts if analysis.analyzer == "english" else analysis.analyzer != "whitespace"
        splits = analysis.version > 1 and has_splits
        chunks = _shared_chunks(analysis, splits)
        super().__init__(partial(terms_of, analysis), splits=splits, chunks=chunks)

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text in their order."""
        return list(terms_of(self._analysis, [text])[0])


def highlights(query: str, text: str, terms: TermCache) -> list[Stretch]:
    """Return the slices ``(start, end)`` of ``text`` that match a term of ``query``, in order, not
    overlapping.
    """
    return highlighter(query, terms)(text)


def highlighter(query: str, terms: TermCache) -> Highlighter:
    """Return a function that finds the slices of a text that match a term of ``query``; it suits
    many texts.
    """
    wanted = query_terms(query, terms)
    if terms.splits:
        words = (word for each in words_of(query) for _, _, word in _numbers_and_words(0, each))
        wanted = wanted.union(term for word in words for term in terms(word))
    return terms.finder(wanted) if wanted else lambda _: []


def query_terms(query: str, terms: Callable[[str], tuple[str, ...]]) -> frozenset[str]:
    """Return the terms that an analyzer makes of ``query``."""
    words = words_of(query)
    spelled = (" ".join(spellings(word)) for word in words if terms(word))
    others = [word for each in spelled for word in each.split()]
    return frozenset(term for word in (*words, *others) for term in terms(word))


def in_time(marked: Highlighter, is_over: Callable[[], bool]) -> Highlighter:
    """Return ``marked`` with a time limit: it reads a long text in pieces, and keeps the matches
    found in time.
    """

    def stretches(text: str) -> list[Stretch]:
        if len(text) <= PIECE:
            return [] if not text or is_over() else marked(text)
        marks: list[Stretch] = []
        start = 0
        while start < len(text) and not is_over():
            # A piece ends at a space, so it splits no word.
            blank = _BLANK.search(text, start + PIECE)
            end = blank.start() if blank else len(text)
            marks.extend((start + first, start + last) for first, last in marked(text[start:end]))
            start = end
        return marks

    return stretches


def mark_texts(marked: Highlighter, texts: Sequence[str]) -> list[list[Stretch]]:
    """Return the slices of each text that ``marked`` finds.

    Short texts are read together, because one pass over many words is faster than many passes over
    a few.
    """
    marks: list[list[Stretch]] = []
    gathered: list[str] = []
    size = 0
    for text in texts:
        if gathered and size + len(text) > PIECE:
            marks += _mark_together(marked, gathered)
            gathered, size = [], 0
        gathered.append(text)
        size += len(text) + 1
    return marks + _mark_together(marked, gathered)


def _mark_together(marked: Highlighter, texts: Sequence[str]) -> list[list[Stretch]]:
    """Return the slices of each text, found in one text of all."""
    if not texts:
        return []
    # A line break separates words, so no match covers two texts.
    found = marked("\n".join(texts))
    marks, at, start = [], 0, 0
    for text in texts:
        end = start + len(text)
        of_text = []
        while at < len(found) and found[at][1] <= end:
            of_text.append((found[at][0] - start, found[at][1] - start))
            at += 1
        marks.append(of_text)
        start = end + 1
    return marks
