"""Words and signatures that Java makes are those that Python makes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.core.errors import MachineError
from factseek.retrieval.lucene import signer, word_counter
from factseek.retrieval.lucene.jvm import start
from factseek.retrieval.lucene.signer import Signer
from factseek.retrieval.lucene.word_counter import WordCounter
from factseek.retrieval.store.signatures import signatures_of
from tests.examples_tried import EXAMPLES
from tests.retrieval.lucene.python_words import PythonWordCounter

BUNDLED = Path(__file__).parents[3] / "examples"
LETTERS = (
    "abcZéßİıſΣς N'’_-.1٣²Ⅷ①ªم\u0651खा\u200c\u200d\u0301疫苗ไカﾞ한𝒜😀\x1c\x85\u2028\xa0\u3000\n–K½＿"
)
"""Letters, digits, marks and blanks of all sorts; no half of a surrogate pair and no NUL, because
no document contains them.
"""
# The whole of Unicode, so that Java's own version of it would be noticed.
ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXT = st.text(ANY, max_size=80) | st.text(LETTERS, max_size=80)


@pytest.fixture(scope="module", autouse=True)
def _java() -> None:
    start()


def bundled_texts() -> list[str]:
    """Return the lines of all bundled files, in many languages and scripts."""
    paths = sorted(path for path in BUNDLED.rglob("*") if path.suffix in (".tsv", ".jsonl"))
    return [line for path in paths for line in path.read_text("utf-8").splitlines()]


def counted(texts: Sequence[str]) -> list[tuple[str, int]]:
    counter = WordCounter(Path("index"))
    for text in texts:
        counter.add(text)
    made = counter.finish()
    return list(zip(made.lines.decode().splitlines(), made.counts.tolist(), strict=True))


def counted_by_python(texts: Sequence[str]) -> list[tuple[str, int]]:
    counter = PythonWordCounter(word_counter._MOST_CHUNKS, word_counter._MOST_COUNTED)
    for text in texts:
        counter.add(text)
    return counter.counts(word_counter.MOST_WORDS)


def signed(texts: Sequence[str]) -> list[list[int]]:
    own = Signer(Path("index"))
    content = b"".join([*(own.add(text) for text in texts), own.end(), own.finish()])
    signatures: list[list[int]] = np.frombuffer(content, "<u8").reshape(-1, 4).tolist()
    return signatures


@settings(max_examples=EXAMPLES)
@given(texts=st.lists(TEXT, max_size=8))
def test_words_of_any_texts_are_those_of_python(texts: list[str]) -> None:
    assert counted(texts) == counted_by_python(texts)


def test_words_of_the_bundled_texts_are_those_of_python() -> None:
    texts = bundled_texts()
    assert len(counted(texts)) > 2_000
    assert counted(texts) == counted_by_python(texts)


@settings(max_examples=EXAMPLES)
@given(
    texts=st.lists(st.text("abcdeé'’1 ", max_size=60), max_size=12),
    bounds=st.tuples(st.integers(1, 6), st.integers(2, 9), st.integers(1, 4)),
)
def test_the_rarest_words_are_dropped_as_by_python(
    texts: list[str], bounds: tuple[int, int, int]
) -> None:
    names = ("_MOST_CHUNKS", "_MOST_COUNTED", "MOST_WORDS")
    with pytest.MonkeyPatch.context() as patched:
        for name, bound in zip(names, bounds, strict=True):
            patched.setattr(word_counter, name, bound)
        assert counted(texts) == counted_by_python(texts)


@pytest.mark.parametrize("bound", ["_CHARACTERS_AT_ONCE", "_MOST_CHUNK_BYTES", "_MOST_CHUNKS"])
def test_words_do_not_depend_on_what_is_counted_together(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = bundled_texts()[:300]
    expected = counted(texts)
    monkeypatch.setattr(word_counter, bound, 50)
    assert counted(texts) == expected


def test_a_counter_that_was_abandoned_counts_no_more() -> None:
    counter = WordCounter(Path("index"))
    counter.abandon()
    counter.abandon()
    message = (
        "index: its words cannot be counted "
        r"\(AlreadyClosedException: this WordCounter is closed\)"
    )
    with pytest.raises(MachineError, match=message):
        counter.end()


@settings(max_examples=EXAMPLES)
@given(texts=st.lists(TEXT, max_size=8))
def test_signatures_of_any_texts_are_those_of_python(texts: list[str]) -> None:
    assert signed(texts) == signatures_of(texts).tolist()


def test_signatures_of_the_bundled_texts_are_those_of_python() -> None:
    texts = bundled_texts()
    assert signed(texts) == signatures_of(texts).tolist()


def test_signatures_do_not_depend_on_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = bundled_texts()[:300]
    expected = signed(texts)
    monkeypatch.setattr(signer, "_TEXTS_AT_ONCE", 7)
    assert signed(texts) == expected


def test_a_signer_that_was_abandoned_signs_no_more() -> None:
    own = Signer(Path("index"))
    own.abandon()
    own.abandon()
    message = (
        "index: its passages cannot be signed "
        r"\(AlreadyClosedException: this Signer is closed\)"
    )
    with pytest.raises(MachineError, match=message):
        own.end()
