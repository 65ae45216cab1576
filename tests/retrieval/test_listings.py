"""The hits of a search as files: each read back, whatever stands in the documents."""

import csv
import io
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek import list_hits
from factseek.retrieval.search.evidence import Copies, Evidence, PassageAnswer
from factseek.retrieval.search.listings import HEADER, keep_digits, list_for_excel, plain_citation

PAPER = Evidence(
    rank=1,
    docid="ug7v899j",
    score=0.25,
    retrievers={},
    title="100% of {masks}: R&D_1 #2\nsecond line",
    passage=PassageAnswer(
        number=0, start=0, end=21, text='Cloth\tmasks, "worn"\r\nER  - ', highlights=[]
    ),
    url="https://doi.org/10.1/a_b",
    date="2015-04-22",
    language="en",
    source="BMJ Open",
    topic="",
    kind="cord19",
    metadata={"authors": "MacIntyre, C R; Seale, Holly", "doi": "10.1136/bmjopen_2014"},
    copies=Copies(count=2, docids=["b", "c"]),
)
SNIPPET = Evidence(
    rank=2,
    docid="=HYPERLINK(1)",
    score=-0.5,
    retrievers={},
    title="",
    passage=PassageAnswer(number=0, start=0, end=0, text="@SUM(A1)", highlights=[]),
    url="",
    date="",
    language="ar",
    source="+1",
    topic="-x",
    kind="snippets",
    metadata={},
)
HITS = [PAPER, SNIPPET]


def test_csv() -> None:
    header, first, second = csv.reader(io.StringIO(list_hits(HITS, "csv"), newline=""))
    assert tuple(header) == (*HEADER, "authors", "doi")
    paper = ["1", "ug7v899j", "0.25", PAPER.title, PAPER.passage.text, PAPER.url]
    about = ["2015-04-22", "BMJ Open", "", "en", "cord19", "2", "", "", "", "", "", ""]
    assert first == [*paper, *about, PAPER.metadata["authors"], PAPER.metadata["doi"]]
    assert second == [
        "2",
        "'=HYPERLINK(1)",
        "-0.5",
        "",
        "'@SUM(A1)",
        "",
        "",
        "'+1",
        "'-x",
        "ar",
        "snippets",
        *[""] * 9,
    ]


def test_tsv() -> None:
    lines = list_hits(HITS, "tsv").split("\n")
    assert [line.count("\t") for line in lines] == [len(HEADER) + 1] * 3 + [0]
    assert 'Cloth masks, "worn" ER  - ' in lines[1]
    assert lines[2].startswith("2\t'=HYPERLINK(1)\t-0.5\t")


def test_ndjson_and_trec() -> None:
    lines = list_hits(HITS, "ndjson").splitlines()
    assert [msgspec.json.decode(line, type=Evidence) for line in lines] == HITS
    assert (
        list_hits(HITS, "trec", "q7")
        == "q7 Q0 ug7v899j 1 0.25 factseek\nq7 Q0 =HYPERLINK(1) 2 -0.5 factseek\n"
    )


def test_ris() -> None:
    assert list_hits(HITS, "ris") == (
        "TY  - JOUR\r\nID  - ug7v899j\r\nTI  - 100% of {masks}: R&D_1 #2 second line\r\nAU  - "
        "MacIntyre, C R\r\n"
        "AU  - Seale, Holly\r\nJO  - BMJ Open\r\nPY  - 2015\r\nDA  - 2015/04/22\r\nDO  - "
        "10.1136/bmjopen_2014\r\n"
        'UR  - https://doi.org/10.1/a_b\r\nAB  - Cloth masks, "worn" ER -\r\nER  - \r\n\r\n'
        "TY  - ELEC\r\nID  - =HYPERLINK(1)\r\nTI  - @SUM(A1)\r\nPB  - +1\r\nAB  - @SUM(A1)\r\nER  "
        "- \r\n\r\n"
    )


def test_bibtex() -> None:
    same_key = [
        msgspec.structs.replace(SNIPPET, docid=docid) for docid in ("a/b", "a b", "A-B", "نيل")
    ]
    text = list_hits([PAPER, *same_key], "bibtex")
    assert text.startswith(
        "@article{ug7v899j,\n"
        r"  title = {{100\% of \{masks\}: R\&D\_1 \#2 second line}}," + "\n"
        "  author = {MacIntyre, C R and Seale, Holly},\n  journal = {BMJ Open},\n  year = {2015},\n"
        "  month = {04},\n"
        "  doi = {10.1136/bmjopen_2014},\n  url = {https://doi.org/10.1/a_b},\n"
        '  abstract = {Cloth masks, "worn" ER -},\n}\n\n@misc{a-b,\n'
    )
    assert re.findall(r"^@\w+{(.*),$", text, re.MULTILINE) == [
        "ug7v899j",
        "a-b",
        "a-b-2",
        "A-B-3",
        "document",
    ]


TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@settings(max_examples=300)
@given(docid=TEXT.filter(bool), texts=st.tuples(TEXT, TEXT, TEXT, TEXT, TEXT))
def test_nothing_in_a_document_makes_another_record(docid: str, texts: tuple[str, ...]) -> None:
    title, passage, url, source, authors = texts
    hit = msgspec.structs.replace(
        PAPER,
        docid=docid,
        title=title,
        passage=msgspec.structs.replace(PAPER.passage, text=passage),
        url=url,
        source=source,
        metadata={"authors": authors, "doi": url},
    )
    hits = [hit, msgspec.structs.replace(hit, rank=2)]
    rows = list(csv.reader(io.StringIO(list_hits(hits, "csv"), newline="")))
    width = len(HEADER) + bool(authors) + bool(url)
    assert {len(row) for row in rows} == {width}
    assert len(rows) == 3
    assert not any(
        cell[:1] in {"=", "+", "-", "@", "\t", "\r", "＝"} for row in rows for cell in row
    )
    assert passage.replace("\0", "\ufffd") in (rows[1][4], rows[1][4].removeprefix("'"))
    tabbed = list_hits(hits, "tsv")
    assert [line.count("\t") for line in tabbed.splitlines()] == [width - 1] * 3
    ris = list_hits(hits, "ris")
    assert (
        len(re.findall(r"^ER  - \r$", ris, re.MULTILINE))
        == len(re.findall(r"^TY  - ", ris, re.MULTILINE))
        == 2
    )
    assert all(re.match(r"[A-Z]{2}  - ", line) for line in ris.split("\r\n") if line)
    bibtex = list_hits(hits, "bibtex")
    depth = 0
    for sign in re.sub(r"\\[{}]", "", bibtex):
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    assert len(re.findall(r"^@", bibtex, re.MULTILINE)) == 2


def test_json_ld_of_reviews_and_of_what_they_cite() -> None:
    review = msgspec.structs.replace(
        PAPER,
        rank=3,
        docid="r/1",
        kind="claimreview",
        title="No.",
        url="https://facts.example.org/1",
        passage=msgspec.structs.replace(PAPER.passage, text="</script><b>Masks</b> kill."),
        metadata={
            "rating": "False",
            "scale": [1, 1, 5],
            "claimant": "A. Nonymous",
            "publisher": "Facts",
        },
    )
    text = list_hits([PAPER, SNIPPET, review], "jsonld")
    assert "<" not in text
    listed = msgspec.json.decode(text)
    assert (listed["@context"], listed["@type"]) == ("https://schema.org", "ItemList")
    assert [entry["position"] for entry in listed["itemListElement"]] == [1, 2, 3]
    paper, snippet, item = (entry["item"] for entry in listed["itemListElement"])
    assert (paper["@type"], paper["sameAs"]) == (
        "ScholarlyArticle",
        "https://doi.org/10.1136/bmjopen_2014",
    )
    assert [author["name"] for author in paper["author"]] == ["MacIntyre, C R", "Seale, Holly"]
    assert (paper["url"], paper["datePublished"], paper["text"]) == (
        PAPER.url,
        PAPER.date,
        PAPER.passage.text,
    )
    assert (snippet["@type"], snippet["@id"]) == (
        "CreativeWork",
        "urn:x-factseek:%3DHYPERLINK%281%29",
    )
    assert (item["@type"], item["claimReviewed"]) == ("ClaimReview", review.passage.text)
    assert item["reviewRating"] == {
        "@type": "Rating",
        "alternateName": "False",
        "ratingValue": 1,
        "bestRating": 5,
        "worstRating": 1,
    }
    assert item["itemReviewed"]["author"]["name"] == "A. Nonymous"
    assert (item["name"], item["headline"]) == (
        "Fact check (False): “</script><b>Masks</b> kill.”",
        "No.",
    )


CLAIM = "Masks\nkill {100%} of runners."
CHECK = Evidence(
    rank=1,
    docid="https://facts.example.org/1",
    score=1.0,
    retrievers={},
    title="No, masks are safe",
    passage=PassageAnswer(number=0, start=0, end=30, text=CLAIM, highlights=[]),
    url="https://facts.example.org/1",
    date="2020-08-01",
    language="en",
    source="facts.example.org",
    topic="",
    kind="claimreview",
    metadata={
        "rating": "False",
        "publisher": "Facts",
        "author": "Doe, J.",
        "explanation": "Air\tpasses.",
    },
)
FOUND = msgspec.structs.replace(
    CHECK,
    passage=PassageAnswer(number=1, start=31, end=42, text="Air\tpasses.", highlights=[]),
    claim=CLAIM,
)
QUOTED = "Fact check (False): “Masks kill {100%} of runners.”"


def bare(**changes: object) -> Evidence:
    """Return the fact-check with only what every review has."""
    return msgspec.structs.replace(
        CHECK, **{"title": "", "metadata": {"rating": "False"}, **changes}
    )


def test_a_fact_check_that_was_found_by_its_explanation_is_cited_with_its_claim() -> None:
    assert plain_citation(FOUND, "") == plain_citation(CHECK, "")
    assert list_hits([FOUND], "ris") == list_hits([CHECK], "ris")
    assert list_hits([FOUND], "bibtex") == list_hits([CHECK], "bibtex")
    assert list_hits([FOUND], "jsonld") == list_hits([CHECK], "jsonld")
    (row,) = csv.DictReader(io.StringIO(list_hits([FOUND], "csv"), newline=""))
    assert (row["passage"], row["claim"], row["explanation"]) == (
        "Air\tpasses.",
        CLAIM,
        "Air\tpasses.",
    )


def test_a_table_has_the_columns_that_a_desk_gave_its_claims() -> None:
    checked = bare(metadata={"rating": "False", "Checker": "=Kim", "page": 3})
    header, row = csv.reader(io.StringIO(list_hits([checked], "csv"), newline=""))
    assert header[len(HEADER) :] == ["Checker", "page"]
    assert row[len(HEADER) :] == ["'=Kim", "3"]


def test_a_table_has_every_field_of_the_metadata_once() -> None:
    metadata = {
        "rating": 0,
        "score": 7,
        "title": "",
        "tags": ["=1", "health"],
        "scale": [1, 2.5],
        "seen": {"by": "Kim"},
        "checked": False,
        "empty": [],
        "none": None,
        "part_starts": [0, 4],
        "page_starts": [0],
    }
    metadata |= {f"column{number}": "x" for number in range(200)}
    header, row = csv.reader(io.StringIO(list_hits([bare(metadata=metadata)], "csv"), newline=""))
    more = dict(zip(header[len(HEADER) :], row[len(HEADER) :], strict=True))
    assert {name: more.pop(name) for name in list(more) if not name.startswith("column")} == {
        "metadata.score": "7",
        "tags": "'=1; health",
        "scale": "[1, 2.5]",
        "seen": '{"by": "Kim"}',
        "checked": "false",
    }
    assert len(more) == 200
    assert row[header.index("rating")] == "0"


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("1234567890123456789", "'1234567890123456789"),  # not 1.23E+18
        ("123456789012", "'123456789012"),
        ("12345678901", "12345678901"),
        ("007", "'007"),
        ("0", "0"),
        ("0.0327868852459016", "0.0327868852459016"),
        ("52e10", "'52e10"),
        ("1e-05", "1e-05"),
        ("650,000 people", "650,000 people"),
        (" 0012 ", "' 0012 "),
        ("'=1234567890123", "'=1234567890123"),
    ],
)
def test_excel_keeps_the_digits_of_a_number(cell: str, kept: str) -> None:
    assert keep_digits(cell) == kept


def test_a_table_for_excel() -> None:
    post = bare(docid="1234567890123456789", metadata={"author_id": 12345678901234567, "row": "01"})
    text = list_for_excel([post])
    assert text.startswith("\ufeffrank,docid,score,")
    (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    assert (row["docid"], row["author_id"], row["row"]) == (
        "'1234567890123456789",
        "'12345678901234567",
        "'01",
    )
    assert (row["rank"], row["score"]) == ("1", "1.0")
    (plain,) = csv.DictReader(io.StringIO(list_hits([post], "csv"), newline=""))
    assert plain["docid"] == "1234567890123456789"


def test_a_formula_is_no_formula_for_excel() -> None:
    (row,) = csv.DictReader(io.StringIO(list_for_excel([SNIPPET]).removeprefix("\ufeff")))
    assert (row["docid"], row["passage"]) == ("'=HYPERLINK(1)", "'@SUM(A1)")


def test_a_fact_check_is_cited_with_its_rating_and_not_as_its_claim() -> None:
    link = "https://facts.example.org/1"
    assert plain_citation(CHECK, link) == f"{QUOTED}. Facts, 2020-08-01, {link}"
    assert plain_citation(bare(), link) == f"{QUOTED}. facts.example.org, 2020-08-01, {link}"
    assert (
        plain_citation(bare(date="", source="", metadata={}), link)
        == f"{QUOTED.replace(' (False)', '')}. {link}"
    )
    row = bare(kind="claims", metadata={"rating": "nope"})
    assert plain_citation(row, "").startswith("Fact check (nope): “Masks")
    snippet = bare(kind="snippets", metadata={"rating": "Falsch", "verdict": "false"})
    assert plain_citation(snippet, "").startswith("Fact check (Falsch): “Masks")
    found = bare(kind="jsonl", metadata={"rating": "Falsch", "explanation": "No."})
    assert plain_citation(found, "").startswith("Fact check (Falsch): “Masks")
    film = bare(kind="snippets", metadata={"rating": "PG-13"})
    assert (
        plain_citation(film, link)
        == f"“Masks kill {{100%}} of runners.” facts.example.org, 2020-08-01. {link}"
    )
    long = bare(passage=msgspec.structs.replace(CHECK.passage, text="Masks kill " * 100))
    assert plain_citation(long, "").startswith("Fact check (False): “Masks kill Masks")
    assert len(plain_citation(long, "")) < 400
    example = msgspec.structs.replace(CHECK, metadata={**CHECK.metadata, "source_x": "Example"})
    assert (
        plain_citation(example, link) == f"{QUOTED}. example data of factseek, 2020-08-01, {link}"
    )


def test_a_fact_check_in_reference_managers_has_what_it_found_as_abstract() -> None:
    assert list_hits([CHECK], "ris").split("\r\n") == [
        "TY  - ELEC",
        "ID  - https://facts.example.org/1",
        f"TI  - {QUOTED}",
        "ST  - No, masks are safe",
        "AU  - Doe, J.",
        "PB  - Facts",
        "PY  - 2020",
        "DA  - 2020/08/01",
        "UR  - https://facts.example.org/1",
        "AB  - Air passes.",
        "ER  - ",
        "",
        "",
    ]
    assert list_hits([CHECK], "bibtex") == (
        "@misc{https:-facts.example.org-1,\n"
        r"  title = {{Fact check (False): “Masks kill \{100\%\} of runners.”}}," + "\n"
        "  shorttitle = {{No, masks are safe}},\n  author = {Doe, J.},\n  publisher = {Facts},\n  "
        "year = {2020},\n"
        "  month = {08},\n  url = {https://facts.example.org/1},\n  abstract = {Air passes.},\n}\n"
        "\n"
    )
    item = msgspec.json.decode(list_hits([CHECK], "jsonld"))["itemListElement"][0]["item"]
    assert (item["@type"], item["name"], item["headline"]) == (
        "ClaimReview",
        QUOTED,
        "No, masks are safe",
    )
    assert (item["claimReviewed"], item["abstract"]) == (CLAIM, "Air passes.")


def test_no_field_of_a_fact_check_has_the_claim_as_title_or_abstract() -> None:
    unknown = bare(url="", metadata={})
    for check in (bare(), bare(title="Masks kill {100%} of runners"), unknown):
        ris, bibtex = list_hits([check], "ris"), list_hits([check], "bibtex")
        assert re.findall(r"^(?:TI|ST|T\d|AB)  - (?!Fact check)", ris, re.MULTILINE) == []
        assert ris.count("runners") == bibtex.count("runners") == 1
        item = msgspec.json.decode(list_hits([check], "jsonld"))["itemListElement"][0]["item"]
        assert item["@type"] == "ClaimReview"
        assert item["claimReviewed"] == CLAIM
        assert item["name"].startswith("Fact check")
        assert not {"headline", "abstract"} & set(item)
