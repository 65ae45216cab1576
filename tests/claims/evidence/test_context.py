"""The sentences around a sentence of evidence, and whether its subject is in the one before."""

import pytest

from factseek.claims.evidence.context import neighbours, refers_back

TEXT = (
    "A heading\nBefore industry it stood at about 280. The value of 2023 is therefore higher.\n"
    "The rise has become faster, too. In the 1960s it grew slowly. Now it grows fast. And on."
)


def around(sentence: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    start = TEXT.index(sentence)
    return neighbours(TEXT, start, start + len(sentence))


def test_two_sentences_on_each_side_and_the_one_that_has_the_subject() -> None:
    assert around("The rise has become faster, too.") == (
        ("Before industry it stood at about 280.", "The value of 2023 is therefore higher."),
        ("In the 1960s it grew slowly.", "Now it grows fast."),
        "The value of 2023 is therefore higher.",
    )


def test_a_sentence_with_its_own_subject_stands_alone() -> None:
    assert around("In the 1960s it grew slowly.")[2] == ""


def test_a_heading_is_no_subject() -> None:
    text = "The sea\nIt has risen."
    assert neighbours(text, 8, len(text)) == (("The sea",), (), "")


def test_at_the_ends_of_a_text_there_are_no_neighbours() -> None:
    assert neighbours("It rose.", 0, 8) == ((), (), "")


def test_far_into_a_long_text_no_neighbour_is_cut() -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(1_000))
    start = text.index("Sentence number 500 ")
    before, after, _ = neighbours(text, start, start + len("Sentence number 500 is here."))
    assert before == ("Sentence number 498 is here.", "Sentence number 499 is here.")
    assert after == ("Sentence number 501 is here.", "Sentence number 502 is here.")


@pytest.mark.parametrize(
    "sentence",
    [
        "It has risen since.",
        "“They were never vaccinated.”",
        "However, deaths fell.",
        "This was withdrawn.",
        "Deaths fell as well.",
        "The trial was stopped.",  # of a trial in the sentence before
        "وهذا يزيد الخطر.",
        "لكنه لم ينجح.",
    ],
)
def test_what_refers_back(sentence: str) -> None:
    assert refers_back(sentence, "In 2020 a large trial of the drug began.")


@pytest.mark.parametrize(
    "sentence",
    [
        "Measles spreads through the air.",
        "The moon is far away.",
        "Itching is common.",
        "Theses are long.",
        "The trial of the other drug went on for three years in more than forty hospitals.",
        "نهر النيل هو أطول أنهار العالم.",
    ],
)
def test_what_stands_alone(sentence: str) -> None:
    assert not refers_back(sentence, "In 2020 a large trial of the drug began.")
