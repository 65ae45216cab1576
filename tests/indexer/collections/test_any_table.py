"""Tables that were made for nobody in particular: their columns, their ids and their encodings."""

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, reader

TURKISH = "Bakanlık, kızamık aşısının çocukları ağır hastalıktan koruduğunu söyledi"
BULGARIAN = "Министерството съобщи, че ваксината предпазва децата от морбили"
ARABIC = "قالت وزارة الصحة إن اللقاح الجديد يحمي الأطفال"
FRENCH = "Le ministère a déclaré que le vaccin protège déjà les élèves"


def documents(
    path: Path, content: bytes, kind: str, columns: Mapping[str, str] | None = None
) -> tuple[list[Document], list[str]]:
    path.write_bytes(content)
    options = ReadOptions(columns=columns or {})
    return [record.document for record in reader(kind).read([path], options)], options.notes


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
@pytest.mark.parametrize(
    ("header", "text", "encoding"),
    [
        (
            "Nr;Überschrift;Inhalt",
            "Masken helfen gegen Tröpfchen, größere zumal, für Ärzte wäre es günstig",
            "cp1252",
        ),
        ("numéro\tTitre\tTexte", FRENCH, "cp1252"),
        ("Kimlik,Başlık,Metin", TURKISH.replace(",", ""), "cp1254"),
        ("Номер|Заглавие|Твърдение", BULGARIAN, "cp1251"),
        ("الرقم;العنوان;النص", ARABIC, "cp1256"),
        ("ID;Título;Afirmación", "La vacuna protege también a los niños, según él", "utf-8"),
        ("number,headline,finding", "Masks help.", "utf-16"),
    ],
)
def test_columns_and_encodings_are_guessed(
    tmp_path: Path, kind: str, header: str, text: str, encoding: str
) -> None:
    mark = next(mark for mark in ";\t,|" if mark in header)
    content = f"{header}\r\n7{mark}T{mark}{text}\r\n8{mark}U{mark}{text}\r\n".encode(encoding)
    found, notes = documents(tmp_path / "a.csv", content, kind)
    assert [(document.docid, document.title, document.text) for document in found] == [
        ("7", "T", text),
        ("8", "U", text),
    ]
    assert any("is used as" in note for note in notes)
    assert any(
        f"is read as {encoding}, which is a guess" in note for note in notes
    ) == encoding.startswith("cp")


def test_a_column_can_be_named(tmp_path: Path) -> None:
    content = b"Key;Our finding;Heading;text\nk1;Masks help.;M;other\n"
    for kind in ("snippets", "claims"):
        columns = {"text": "our FINDING", "title": "Heading", "id": "Key"}
        (document,), _ = documents(tmp_path / "a.csv", content, kind, columns)
        assert (document.docid, document.text, document.title) == ("k1", "Masks help.", "M")
    for columns, message in (
        (
            {"text": "Finding"},
            "there is no column 'Finding'; the columns are 'Key', 'Our finding', 'Heading', 'text'",
        ),
        ({"colour": "Key"}, "--column: there is no field 'colour'; the fields are "),
    ):
        for kind in ("snippets", "claims", "claimreview"):
            with pytest.raises(SourceError) as caught:
                documents(tmp_path / "a.csv", content, kind, columns)
            assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["snippets", "claims"])
def test_rows_without_an_id_have_one_of_their_content(tmp_path: Path, kind: str) -> None:
    one, notes = documents(
        tmp_path / "a.csv", b"text,title\nMasks help.,M\nZinc does not.,Z\n", kind
    )
    other, _ = documents(
        tmp_path / "b.tsv", b"title\ttext\nZ\tZinc does not.\nM\tMasks help.\n", kind
    )
    assert {document.docid for document in one} == {document.docid for document in other}
    assert len({document.docid for document in one}) == 2
    assert any("each row gets an id made from its content" in note for note in notes)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_message_lists_the_columns_of_every_table(
    tmp_path: Path, mark: str, quote: str, encoding: str
) -> None:
    rows = [
        ["Fall", "Köpfe", "Befund"],
        ["1", "Größe", "Für Ärzte wäre es günstig"],
        ["2", "Übung", "Höhere Töne stören früh"],
    ]
    lines = [mark.join(f"{quote}{cell}{quote}" for cell in row) for row in rows]
    for kind in ("snippets", "claims", "claimreview", "cord19"):
        with pytest.raises(SourceError) as caught:
            documents(tmp_path / "a.csv", "\n".join(lines).encode(encoding), kind)
        assert "columns are Fall, Köpfe, Befund" in str(caught.value).replace("'", "")


def test_texts_in_quotes_beside_numbers_without_are_read(tmp_path: Path) -> None:
    content = b'"id"\t"year"\t"text"\n1\t2020\t"Masks help."\n2\tNA\t"Zinc does not."\n'
    found, _ = documents(tmp_path / "a.tsv", content, "snippets")
    assert [(document.docid, document.text) for document in found] == [
        ("1", "Masks help."),
        ("2", "Zinc does not."),
    ]


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
@pytest.mark.parametrize(
    ("column", "words", "verdict"),
    [
        ("Verdict", "False", "false"),
        ("Bewertung", "richtig", "true"),
        ("Veredicto", "Engañoso", "mixed"),
        ("الحكم", "زائف", "false"),
    ],
)
def test_a_desks_own_verdict_is_the_rating(
    tmp_path: Path, kind: str, column: str, words: str, verdict: str
) -> None:
    content = f"Claim;{column}\nThe bridge is closed.;{words}\n".encode()
    ((document,), _) = documents(tmp_path / "a.csv", content, kind)
    assert {name: document.metadata[name] for name in ("rating", "verdict")} == {
        "rating": words,
        "verdict": verdict,
    }


def test_a_few_letters_are_those_of_western_europe(tmp_path: Path) -> None:
    (document,), notes = documents(
        tmp_path / "a.csv", "id;text\n1;Die Brücke\n".encode("cp1252"), "claims"
    )
    assert document.text == "Die Brücke"
    assert "is read as cp1252, which is a guess" in notes[0]
    with pytest.raises(SourceError, match="is not UTF-8"):
        documents(
            tmp_path / "b.csv", "id;text\n1;Die Brücke\n".encode() + b"2;Br\xfccke\n", "claims"
        )


def test_columns_without_a_meaning_are_named(tmp_path: Path) -> None:
    content = b"Claim;When;Who\nThe bridge is closed.;3 Oct 2021;Ada\n"
    for kind in ("claims", "claimreview", "snippets"):
        (document,), notes = documents(tmp_path / "a.csv", content, kind)
        assert (
            f"{tmp_path / 'a.csv'}:1: these columns become metadata: 'When', 'Who'; give one a "
            "meaning with --column, as in --column date=NAME"
        ) in notes
        assert dict(document.metadata) == {"When": "3 Oct 2021", "Who": "Ada"}


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
def test_columns_are_kept_beside_ids(tmp_path: Path, kind: str) -> None:
    content = b"docid,claim,Who,url\n7,The bridge is closed.,Ada,https://a.example/7\n"
    ((document,), notes) = documents(tmp_path / "a.csv", content, kind)
    assert (document.docid, document.metadata["Who"]) == ("7", "Ada")
    assert len([note for note in notes if "these columns become metadata: 'Who';" in note]) == 1


def test_a_column_of_another_meaning_keeps_its_name_beside_the_field(tmp_path: Path) -> None:
    content = b"id,claim,title,language\n1,The bridge is closed.,Bridge,Klingon\n"
    chosen = {"title": "claim"}
    ((document,), _) = documents(tmp_path / "a.csv", content, "claims", chosen)
    assert document.title == "The bridge is closed."
    assert document.metadata["column title"] == "Bridge"


@pytest.mark.parametrize("kind", ["snippets", "claims"])
def test_rows_that_differ_in_metadata_alone_have_ids_of_their_own(
    tmp_path: Path, kind: str
) -> None:
    content = b"Claim,Who\nThe bridge is closed.,Ada\nThe bridge is closed.,Ben\n"
    first, second = documents(tmp_path / "a.csv", content, kind)[0]
    assert first.docid != second.docid
    alone = documents(tmp_path / "b.csv", content.replace(b"Ben", b"Ada"), kind)[0]
    assert [document.docid for document in alone] == [first.docid] * 2


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
@pytest.mark.parametrize("unfit", ["0", "no", "12.5", "2020-03-01", "https://a.example/1"])
def test_a_column_of_flags_numbers_or_addresses_is_no_text(
    tmp_path: Path, kind: str, unfit: str
) -> None:
    content = f"tweet_text,claim,n\nThe bridge is closed.,{unfit},1\nIt is open.,{unfit},2\n"
    two, _ = documents(tmp_path / "a.csv", content.encode(), kind)
    assert [document.text for document in two] == ["The bridge is closed.", "It is open."]
    chosen, _ = documents(tmp_path / "a.csv", content.encode(), kind, {"text": "claim"})
    assert {document.text for document in chosen} == {unfit}


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
def test_a_table_without_texts_is_refused(tmp_path: Path, kind: str) -> None:
    content = b"id,claim\n1,0\n2,1\n"
    with pytest.raises(SourceError) as caught:
        documents(tmp_path / "a.csv", content, kind)
    if kind == "claimreview":  # its own name is claimReviewed, so a claim may be anything
        assert "the column 'claim' contains flags" in caught.value.what
    else:
        assert caught.value.what == (
            "the column 'claim' contains flags, not texts; name the column of the texts with "
            "--column text=NAME; the columns are 'id', 'claim'"
        )


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
@pytest.mark.parametrize("name", ["Quelle", "Beleg", "Titel", "Link"])
def test_a_column_of_addresses_is_the_address(tmp_path: Path, kind: str, name: str) -> None:
    content = f"Behauptung;{name}\nDie Brücke ist zu.;https://a.example/1\n"
    ((document,), _) = documents(tmp_path / "a.csv", content.encode(), kind)
    assert (document.url, document.source) == ("https://a.example/1", "a.example")
    assert document.title == ""


def test_a_named_column_of_addresses_comes_first(tmp_path: Path) -> None:
    content = b"Claim,Seen at,Link\nIt is open.,https://x.example/,https://a.example/1\n"
    ((document,), _) = documents(tmp_path / "a.csv", content, "claims")
    assert document.url == "https://a.example/1"
    assert document.metadata["Seen at"] == "https://x.example/"


def test_an_address_of_the_publisher_is_not_that_of_the_review(tmp_path: Path) -> None:
    content = b"claimReviewed,author.url\nIt is open.,https://a.example/\n"
    ((document,), _) = documents(tmp_path / "a.csv", content, "claimreview")
    assert document.url == ""
    assert document.metadata["publisher_url"] == "https://a.example/"


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet"])
def test_objects_keep_their_other_keys(tmp_path: Path, name: str) -> None:
    content = b'{"id": "1", "claim": "It is open.", "Who": "Ada", "n": 3, "list": ["a"]}'
    if name.endswith("parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([json.loads(content)]), tmp_path / name)
        content = (tmp_path / name).read_bytes()
    ((document,), notes) = documents(tmp_path / name, content, "claims")
    assert dict(document.metadata) == {"Who": "Ada", "n": 3, "list": ["a"]}
    assert len([note for note in notes if "become metadata: 'Who', 'n', 'list'" in note]) == 1


@pytest.mark.parametrize(("kind", "name"), [("snippets", "a.jsonl"), ("claims", "a.json")])
def test_keys_of_objects_are_named_as_columns_are(tmp_path: Path, kind: str, name: str) -> None:
    content = b'{"id": "1", "text": "Old.", "Our finding": "The bridge is closed."}'
    ((document,), _) = documents(tmp_path / name, content, kind, {"text": "Our finding"})
    assert document.text == "The bridge is closed."


def test_a_header_without_known_names_is_not_a_snippet(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError,
        match="its columns are Foo, Bar; give the column of the texts, as in --column text=NAME",
    ):
        documents(tmp_path / "a.tsv", b"Foo\tBar\nMasks help.\ta\n", "snippets")
    _, notes = documents(tmp_path / "b.tsv", b"Kurz\tBefund\nAlpha\tEins\n", "snippets")
    assert notes == [
        f"{tmp_path / 'b.tsv'}:1: the first line has no known column names, so the columns are "
        "read as docid, text; "
        "see --column"
    ]


def test_a_spreadsheets_unicode_text_is_a_table(tmp_path: Path) -> None:
    for kind in ("snippets", "claims", "claimreview"):
        (document,), _ = documents(
            tmp_path / "a.txt", "Claim\tDate\nThe bridge is closed.\t2021\n".encode("utf-16"), kind
        )
        assert (document.text, document.date) == ("The bridge is closed.", "2021")


@pytest.mark.parametrize("name", ["İddia", "IDDIA", "Iddia:", "iddia *", "İDDİA"])
def test_turkish_and_marked_names_of_columns_are_known(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{name};Sonuç\nAşılar zararlı.;Yanlış\n", "utf-8")
    (record,) = reader("claims").read([path], ReadOptions())
    assert record.document.text == "Aşılar zararlı."


def test_names_of_columns_in_decomposed_letters_are_known(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    header = unicodedata.normalize("NFD", "claim,Erklärung")
    path.write_text(f"{header}\nThe earth is flat.,It is round.\n", "utf-8")
    (record,) = reader("claims").read([path], ReadOptions())
    assert record.document.text == "The earth is flat.\nIt is round."


def test_names_of_columns_in_russian_are_known(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("№;Утверждение;Вердикт;Пояснение\n1;Земля плоская;Ложь;Она круглая\n", "utf-8")
    (record,) = reader("claimreview").read([path], ReadOptions())
    assert record.document.text == "Земля плоская\nОна круглая"
    assert record.document.metadata["verdict"] == "false"
