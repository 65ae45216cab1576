"""Passages: whole sentences, in order, covering every word."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from factseek.indexer.passages import split
from factseek.retrieval.sentences import sentences

WORDS = st.lists(
    st.sampled_from(
        ["Alpha", "beta.", "Gamma!", "delta", "Dr.", "e.g.", "12.5", "\n", "سؤال؟", "句子。", "  "]
    )
)


def texts(text: str, **options: int) -> list[str]:
    return [text[start:end] for _, start, end in split(text, **options)]


def test_sentences() -> None:
    text = (
        'Dr. Smith saw 3.5 cases. "Was it so?" she asked. See Fig. 2 here! A heading\nE. coli '
        "et al. grew. نعم؟ لا."
    )
    found = [text[s.start : s.end] for s in sentences(text)]
    assert found == [
        "Dr. Smith saw 3.5 cases.",
        '"Was it so?" she asked.',
        "See Fig. 2 here!",
        "A heading",
        "E. coli et al. grew.",
        "نعم؟",
        "لا.",
    ]


def test_passages_hold_whole_sentences_and_overlap_by_one() -> None:
    text = " ".join(f"Sentence number {i} has six words." for i in range(20))
    found = texts(text, words=18, overlap=1)
    assert (
        found[0]
        == "Sentence number 0 has six words. Sentence number 1 has six words. Sentence number 2 "
        "has six words."
    )
    assert found[1].startswith("Sentence number 2 has")
    assert all(passage.endswith("words.") for passage in found)


@given(WORDS, st.integers(1, 12), st.integers(0, 3))
def test_every_word_is_in_some_passage_and_passages_advance(
    words: list[str], size: int, overlap: int
) -> None:
    text = " ".join(words)
    spans = split(text, size, overlap)
    covered = [any(span.start <= i < span.end for span in spans) for i in range(len(text))]
    assert all(inside or char.isspace() for inside, char in zip(covered, text, strict=True))
    for one, other in pairwise(spans):
        assert one.number + 1 == other.number
        assert one.start < other.start
        assert one.end < other.end
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
