"""Each note of a search or a ranker has plain words on the page, in each of its languages."""

from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from factseek.server.page.notes import plain_note

NOTES = {
    "the query looks like ar, the documents are in en, and the vectors of this index are for en "
    "(all-MiniLM-L6-v2); bm25 is more reliable here than dense or hybrid; a multilingual encoder "
    "would know the language": (
        "These documents are in English and your text looks Arabic. Meaning search knows only "
        "English here; names and numbers still match."
    ),
    "no other passage contains a word of this document": (
        "No other document contains a word of this one."
    ),
    "the analyzer english drops every word of this query": (
        "All words of your text are too common to search for."
    ),
    "the text is in Arabic, but the ranker learned from en, de": (
        "This text is in Arabic, but the model has learned only English, German."
    ),
    "random does not use words, so no word has a weight": (
        "This model does not show which words weigh most."
    ),
    "the time was too short to weigh the words of the last 2 of 5 claims": (
        "The time was too short to show the words of the last 2 of 5 texts."
    ),
    "no evidence was found": "No evidence was found.",
    "no label is probable enough: SUPPORTS has 0.41, but 0.5 is needed": (
        "No label is probable enough: SUPPORTS has 0.41, but 0.5 is needed."
    ),
    "the evidence does not state 1.5e+09, which is a number in the claim": (
        "The evidence does not state 1.5e+09, which is a number in the claim."
    ),
    "the evidence contains 2 of the 7 words of the claim, excluding stop words": (
        "The evidence contains 2 of the 7 words of the claim, excluding stop words."
    ),
}


@pytest.mark.parametrize("note", NOTES)
def test_a_note_has_plain_words(note: str) -> None:
    assert plain_note("en", note) == NOTES[note]
    arabic = plain_note("ar", note)
    words = ("the ", "The ", "text", "English", "Arabic", "evidence", "SUPPORTS")
    assert not any(word in arabic for word in words)


def test_a_note_without_plain_words_stays_as_it_is() -> None:
    assert plain_note("ar", "something else happened") == "Something else happened."
    two = "no other passage contains a word of this document\nsomething else"
    assert plain_note("en", two) == "No other document contains a word of this one. Something else."


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/?index=english&retriever=bm25&query=the", "كل كلمات نصك شائعة إلى حد لا يُبحث عنها."),
        (f"/?index=english&query={quote('نهر النيل')}", "يبدو أن لغة نصك العربية"),
        (f"/check?text={quote('نهر النيل أطول الأنهار')}", "لكن النموذج لم يتعلم إلا الإنجليزية."),
    ],
)
def test_the_arabic_page_notes_in_arabic(client: FlaskClient, address: str, words: str) -> None:
    """These are the notes that the program really makes, so a change of one fails here."""
    assert words in client.get(f"{address}&lang=ar").text


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("/?index=english&query=%3F%21", "لا يحتوي النص على كلمات للبحث عنها."),
        ("/?index=english&query=-moon", "ليس في البحث إلا شروط؛ أضف كلمات للبحث عنها."),
        (f"/?index=english&query={'measles ' * 40}", "عدد حروف النص 319، والحد الأقصى 200."),
        ("/?index=english&query=measles&as_of=20", "«20» ليس تاريخًا على صورة 2020-03-01"),
        ("/?index=english&query=measles before:1", "«1» ليس تاريخًا على صورة 2020-03-01"),
        ("/?index=english&like=none", "لا توجد وثيقة «none» في هذا الفهرس."),
        ("/verify?index=english&claim=%3F%21", "لا يحتوي النص على كلمات للبحث عنها."),
        ("/verify?index=english&claim=measles&as_of=20", "«20» ليس تاريخًا على صورة 2020-03-01"),
    ],
)
def test_the_arabic_page_says_what_is_wrong_in_arabic(
    client: FlaskClient, address: str, problem: str
) -> None:
    """These are the problems that the program really finds, so a change of one fails here."""
    shown = client.get(f"{address}&lang=ar")
    assert shown.status_code == 400
    assert problem in shown.text


def test_a_query_without_words_is_not_said_to_have_conditions(client: FlaskClient) -> None:
    assert "contains no words to search for" in client.get("/?index=english&query=%3F%21").text
