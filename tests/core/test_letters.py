"""One form of letters, and numbers apart from words, in texts that are already folded."""

import pytest

from factseek.core.letters import fold_letters, spellings, split_numbers


@pytest.mark.parametrize(
    ("analyzer", "text", "form"),
    [
        ("french", "bœuf Œdipe nævus", "boeuf OEdipe naevus"),
        ("german", "Fußball GROẞ", "Fussball GROSS"),
        ("danish", "sæbe være VÆRET vært værk", "saebe være VÆRET vært vaerk"),
        ("norwegian", "være vært værhane", "være vært vaerhane"),
        ("standard", "være", "vaere"),
        ("standard", "Ирӕф Ӕхсар", "Ирaeф AEхсар"),
        ("romanian", "Țiriac și știința", "Ţiriac şi ştiinţa"),
        ("arabic", "ٱلْقَمَر ذٰلِكَ مـــاء", "القمر ذلك ماء"),
        ("arabic", "إلى کتاب", "إلى كتاب"),  # a stop word keeps its letter
        ("standard", "علی لڑکی", "علي لڑكي"),
        ("standard", "یہ ہے", "يه هے"),
        ("standard", "ھے گھر", "هے گھر"),  # after another letter, it is no heh
        ("sorani", "کوردی", "کوردی"),
        ("standard", "שָׁנָה דו״ח דו\"ח", "שנה דוח דוח"),
        ("standard", "ײִדיש װאָס", "יידיש וואס"),
        ("bengali", "১২", "12"),
        ("standard", "۴٫۵ ٤٫٥", "4.5 4.5"),
        ("english", "plain (text) \"quoted\" 7", "plain (text) \"quoted\" 7"),
    ],
)  # fmt: skip
def test_a_letter_has_one_form(analyzer: str, text: str, form: str) -> None:
    assert fold_letters(text, analyzer) == form


@pytest.mark.parametrize(
    ("analyzer", "text", "form"),
    [
        ("german", "25kg SARS2 PM10 7g 2.5mg", "25 kg SARS 2 PM 10 7 g 2.5 mg"),
        ("german", "grippe09virus", "grippe 09 virus"),
        ("german", "H5N1 B12 A4 G7 2x4", "H5N1 B12 A4 G7 2x4"),
        ("german", "id_7 a-1 1984", "id_7 a-1 1984"),
        ("standard", "zika16ở H2SO4 B12mangel", "zika 16 ở H2SO4 B 12 mangel"),
        ("russian", "15мг грипп09 С300 1990г", "15 мг грипп 09 С300 1990 г"),
        ("arabic", "سارس2 ب5 15ملغ", "سارس 2 ب 5 15 ملغ"),
        ("hindi", "सार्स2 15मिग्रा", "सार्स 2 15 मिग्रा"),
        ("cjk", "사스2 4명 9월 1984년도2월", "사스 2 4 명 9 월 1984 년도 2 월"),
        ("cjk", "RNA검사 B형", "RNA 검사 B 형"),
        ("cjk", "1984年 SARS疫情", "1984年 SARS疫情"),  # the tokenizer splits these
        ("english", "25kg SARS2 15мг β2 25μg", "25kg SARS2 15мг β2 25μg"),
        ("english", "سارس2 사스2 RNA검사", "سارس 2 사스 2 RNA 검사"),
        ("whitespace", "25kg 사스2", "25kg 사스2"),
    ],
)  # fmt: skip
def test_numbers_are_apart_from_words_and_codes_stay_whole(
    analyzer: str, text: str, form: str
) -> None:
    assert split_numbers(text, analyzer) == form


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("نیم\u200cفاصله", ["نیمفاصله", "نیم فاصله"]),
        ("إسحٰق", ["إسحاق"]),
        ("زكوٰة", ["زكواة", "زكاة"]),
        ("مصطفَىٰ", ["مصطفَىا", "مصطفَا"]),
        ("كتاب", []),
        ("isaac", []),
    ],
)  # fmt: skip
def test_other_spellings_of_a_word(word: str, others: list[str]) -> None:
    assert spellings(word) == others


def test_long_texts_without_spaces_take_linear_time() -> None:
    for text in (
        "字" * 200_000,
        "a" * 200_000 + "é",
        "ก" * 100_000 + "1",
        "1a" * 50_000 + "é",
        "1" * 200_000,
    ):
        split_numbers(fold_letters(text, "german"), "german")
