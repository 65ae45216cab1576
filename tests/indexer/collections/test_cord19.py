"""Papers of CORD-19 in every form they come in."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.core.domain import Document, Span
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record
from factseek.indexer.collections.cord19 import read

OLD = (
    "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,journal,"
    "Microsoft Academic Paper ID,WHO #Covidence,has_pdf_parse,has_pmc_xml_parse,full_text_file,url"
).split(",")
NEW = [
    *OLD[:12],
    "mag_id",
    "who_covidence_id",
    "arxiv_id",
    "pdf_json_files",
    "pmc_json_files",
    "url",
    "s2_id",
]


def metadata(
    folder: Path, *rows: dict[str, str], columns: list[str] = NEW, name: str = "metadata.csv"
) -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def parse(path: Path, *body: tuple[str, str], title: str = "", abstract: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {
        "paper_id": path.stem,
        "metadata": {"title": title, "authors": []},
        "abstract": [{"text": abstract, "section": "Abstract"}],
        "body_text": [
            {"text": text, "section": section, "cite_spans": []} for section, text in body
        ],
        "back_matter": [{"text": "Thanks.", "section": "Acknowledgements"}],
    }
    path.write_text(json.dumps(content), "utf-8")
    return path


def records(*sources: Path, options: ReadOptions | None = None) -> list[Record]:
    return list(read(sources, options or ReadOptions()))


ROW = {
    "cord_uid": "ug7v899j",
    "sha": "d1aa; 6b05",
    "source_x": "PMC",
    "title": "Clinical  features\nof M. pneumoniae",
    "doi": "10.1186/1471-2334-1-6",
    "pmcid": "PMC35282",
    "pubmed_id": "11472636",
    "license": "no-cc",
    "abstract": "OBJECTIVE: To look.\nRESULTS: Seen.",
    "publish_time": "2001-07-04",
    "authors": "Madani, Tariq A; Al-Ghamdi, Aisha A",
    "journal": "BMC Infect Dis",
    "url": "https://a.org/1;2-h; https://b.org/2",
}


def test_a_row_is_a_document_of_one_passage(tmp_path: Path) -> None:
    path = metadata(tmp_path, ROW)
    text = "OBJECTIVE: To look.\nRESULTS: Seen."
    document = Document(
        docid="ug7v899j",
        text=text,
        title="Clinical features of M. pneumoniae",
        url="https://a.org/1;2-h",
        date="2001-07-04",
        language="en",
        source="BMC Infect Dis",
        metadata={
            name: ROW[name]
            for name in (
                "authors",
                "journal",
                "doi",
                "pmcid",
                "pubmed_id",
                "license",
                "source_x",
                "sha",
            )
        },
    )
    expected = [Record(document, f"{path}:2", (Span(0, 0, len(text)),))]
    assert records(tmp_path, options=ReadOptions(language="en")) == expected
    assert records(path, options=ReadOptions(language="en")) == expected


BODY = (("Intro", "One."), ("Intro", "Two."), ("", "Three."), ("Mice ::: Methods", "Four."))
BODY_TEXT = "Intro\nOne.\n\nTwo.\n\nThree.\n\nMethods: Mice\nFour."


def test_a_full_text_follows_the_abstract_and_is_left_to_be_split(tmp_path: Path) -> None:
    parse(tmp_path / "document_parses/pdf_json/d1aa.json", *BODY)
    metadata(
        tmp_path,
        {"cord_uid": "a", "abstract": "A.", "pdf_json_files": "document_parses/pdf_json/d1aa.json"},
    )
    (record,) = records(tmp_path)
    assert record.document.text == f"A.\n\n{BODY_TEXT}"
    assert record.spans is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pmc": "Short.", "pdf": "Much longer."}, "Short."),
        ({"pmc": "", "pdf": "Much longer."}, "Much longer."),
        ({"pdf": "Supplement.", "pdf2": "The paper itself."}, "The paper itself."),
        ({"pdf": "Same size 1", "pdf2": "Same size 2"}, "Same size 1"),
    ],
)
def test_pubmed_central_comes_first_then_the_longest_pdf(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    for name, text in files.items():
        parse(tmp_path / f"x/{name}.json", ("", text))
    listed = {"pmc_json_files": "x/pmc.json", "pdf_json_files": "x/pdf.json; x/pdf2.json"}
    metadata(tmp_path, {"cord_uid": "a", "title": "T", **listed})
    assert records(tmp_path)[0].document.text == expected


def test_older_generations_name_parses_after_sha_and_pmcid(tmp_path: Path) -> None:
    parse(tmp_path / "comm_use_subset/pdf_json/aa11.json", ("", "PDF."))
    parse(tmp_path / "comm_use_subset/pmc_json/PMC7.xml.json", ("", "PMC."))
    parse(tmp_path / "custom_license/bb22.json", ("", "Other."))
    metadata(
        tmp_path,
        {"cord_uid": "a", "title": "A", "sha": "aa11", "pmcid": "PMC7"},
        {"cord_uid": "b", "title": "B", "sha": "cc33; bb22", "pmcid": "PMC8"},
        {"cord_uid": "c", "title": "C", "sha": "../metadata", "pmcid": ""},
        columns=OLD,
    )
    assert [record.document.text for record in records(tmp_path)] == ["PMC.", "Other.", ""]


def test_a_listed_path_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = parse(tmp_path / "secret.json", ("", "Secret."))
    (tmp_path / "cord").mkdir()
    metadata(
        tmp_path / "cord",
        {"cord_uid": "a", "title": "T", "pdf_json_files": f"../secret.json; {outside}"},
    )
    assert records(tmp_path / "cord")[0].document.text == ""


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        ("[]", "", "is not a parse of a paper (it has no list 'body_text')"),
    ],
)
def test_a_damaged_parse_is_bad_and_the_paper_stays(
    tmp_path: Path, content: str, place: str, reason: str
) -> None:
    (tmp_path / "p.json").write_text(content, "utf-8")
    metadata(
        tmp_path, {"cord_uid": "a", "title": "T", "abstract": "A.", "pdf_json_files": "p.json"}
    )
    with pytest.raises(SourceError) as caught:
        records(tmp_path)
    message = f"{tmp_path}/p.json{place}: {reason}"
    assert str(caught.value) == f"{message}; fix it, or skip bad lines with --skip-bad-lines N"
    options = ReadOptions(bad_lines=BadLines(limit=1))
    assert records(tmp_path, options=options)[0].document.text == "A."
    assert options.bad_lines.examples == [message]


def test_rows_of_one_paper_are_merged_where_the_last_stands(tmp_path: Path) -> None:
    path = metadata(
        tmp_path,
        {
            "cord_uid": "a",
            "title": "First",
            "abstract": "Short.",
            "publish_time": "2020",
            "source_x": "WHO",
        },
        {"cord_uid": "b", "title": "B"},
        {
            "cord_uid": "a",
            "title": "Second",
            "abstract": "Rather longer.",
            "publish_time": "2020-03-01",
            "doi": "10.1/x",
        },
        {"cord_uid": "c", "title": "C"},
    )
    options = ReadOptions()
    found = records(tmp_path, options=options)
    assert [record.document.docid for record in found] == ["b", "a", "c"]
    merged = found[1]
    assert merged.place == f"{path}:2"
    assert merged.document == Document(
        "a",
        "Rather longer.",
        "First",
        date="2020-03-01",
        source="WHO",
        metadata={"doi": "10.1/x", "source_x": "WHO"},
    )
    assert options.skipped == {"rows merged into another row of the same cord_uid": 1}


CELL = st.sampled_from(["", "x", "longer text"])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), CELL, CELL), max_size=12))
def test_nothing_that_a_row_says_is_lost(rows: list[tuple[str, str, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = metadata(
            Path(folder),
            *({"cord_uid": uid, "title": title, "abstract": text} for uid, title, text in rows),
        )
        options = ReadOptions()
        found = {record.document.docid: record.document for record in read([path], options)}
    for uid in {uid for uid, _, _ in rows}:
        titles = [title for name, title, _ in rows if name == uid and title]
        texts = [text for name, _, text in rows if name == uid and text]
        if titles or texts:
            assert found[uid].title == (titles[0] if titles else "")
            assert found[uid].text == max(texts, key=len, default="")
        else:
            assert uid not in found
    assert len(rows) == len(found) + options.skipped.total()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "Cord_UID, TITLE,Abstract ,Publish Time\na,Masks,They help.,2020-03\n",
            ("Masks", "They help.", "2020-03"),
        ),
        ("cord_uid|title|abstract\ra|Masks|They help.\r", ("Masks", "They help.", "")),
        (
            '"","cord_uid","title","abstract"\n"1","a",NA,"They help, NA, they do."\n',
            ("", "They help, NA, they do.", ""),
        ),
        ('cord_uid;title;abstract\na;"NA";NULL\n', ("NA", "", "")),
        (
            'cord_uid,title,abstract\na,"two\nNA,NA\nlines",NaN\n',
            ("two\nNA,NA\nlines".replace("\n", " "), "", ""),
        ),
    ],
)
def test_tables_are_read_as_programs_write_them(
    tmp_path: Path, content: str, expected: tuple[str, str, str]
) -> None:
    path = tmp_path / "metadata.csv"
    path.write_bytes(content.encode())
    (record,) = records(tmp_path)
    assert (record.document.title, record.document.text, record.document.date) == expected


@pytest.mark.parametrize(
    ("times", "given", "dates"),
    [
        (["4/3/2020", "13/3/2020"], "", ["2020-03-04", "2020-03-13"]),
        (["4/3/2020", "3/13/2020"], "day-first", ["2020-04-03", "2020-03-13"]),
        (["4/3/2020", "5/3/2020"], "", ["", ""]),
        (
            ["4/3/2020", "13/3/2020", "3/13/2020"],
            "day-first",
            ["2020-03-04", "2020-03-13", "2020-03-13"],
        ),
    ],
)
def test_dates_of_a_file_tell_their_order(
    tmp_path: Path, times: list[str], given: str, dates: list[str]
) -> None:
    rows = [
        {"cord_uid": f"p{at}", "title": "T", "publish_time": time} for at, time in enumerate(times)
    ]
    metadata(tmp_path, *rows)
    metadata(
        tmp_path, {"cord_uid": "q", "title": "T", "publish_time": "3/30/2021"}, name="other.csv"
    )
    options = ReadOptions(dates=given)
    found = [
        record.document for record in records(tmp_path / "other.csv", tmp_path, options=options)
    ]
    assert [document.date for document in found] == ["2021-03-30", *dates]
    unread = [document.metadata["date"] for document in found if not document.date]
    assert unread == [time for time, date in zip(times, dates, strict=True) if not date]
    assert (options.unread_dates.count, options.unread_dates.either) == (len(unread), len(unread))
