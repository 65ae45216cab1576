"""Documents left out are named: on standard error the first of it, in the report all."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = (
    "<html><body><article><h1>A bridge</h1><p>The new bridge will be opened to all traffic in "
    "spring.</p></article>"
)
MENU = "<html><body><nav><img src='a.png'></nav></body></html>"


def test_the_command_names_one_and_the_report_all(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "page.html").write_text(PAGE, "utf-8")
    menus = [str(folder / f"menu-{number:02d}.html") for number in range(12)]
    for menu in menus:
        Path(menu).write_text(MENU, "utf-8")
    indexed = ("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense")
    code, _, err = command(*indexed)
    named = [f"  {menu}" for menu in menus[:10]]
    assert (code, err.splitlines()) == (0, ["left out: 12 no main content", *named, "  and 2 more"])
    _, out, _ = command(*indexed, "--overwrite", "--json")
    facts = json.loads(out)
    assert facts["left_out"] == {"no main content": 12}
    assert facts["left_out_names"] == {"no main content": menus}


def test_every_file_of_a_folder_is_read_or_named(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    folder = tmp_path / "pages"
    claim = {"claimID": "c", "results": [{"pageID": "page", "url": "https://a.org", "title": "T"}]}
    for name, content in {
        "page.html": PAGE,
        "page_files/frame.html": PAGE,
        "note.md": "The pipes are gone.",
        "mail.eml": "Subject: Pipes\n\nThe pipes are gone.",
        "claims/c.json": json.dumps(claim),
        "table.csv": "id,text\n1,a\n",
        "old.php": PAGE,
        "older.php": PAGE,
        "bare": PAGE,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    indexed = ("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense", "--json")
    code, out, err = command(*indexed)
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["documents"], facts["left_out_names"]) == (
        3,
        {
            ".csv file, which factseek index snippets reads": [str(folder / "table.csv")],
            ".php file, which is read only if you name it": [
                str(folder / "old.php"),
                str(folder / "older.php"),
            ],
            "file without an ending, which is read only if you name it": [str(folder / "bare")],
            "part of a saved page": [str(folder / "page_files" / "frame.html")],
        },
    )


def test_links_that_lead_out_of_the_folder_are_named(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    folder, secret = tmp_path / "pages", tmp_path / "secret.txt"
    (folder / "sub").mkdir(parents=True)
    (folder / "page.html").write_text(PAGE, "utf-8")
    secret.write_text("A secret of the neighbours.", "utf-8")
    (folder / "inside.html").symlink_to("page.html")
    links = {
        "absolute.txt": str(secret),
        "climbs.txt": "sub/../../secret.txt",
        "gone.txt": "../gone.txt",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    (folder / "sub" / "up").symlink_to("../..")
    indexed = ("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense", "--json")
    code, out, err = command(*indexed)
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["documents"], facts["left_out_names"]) == (
        1,
        {
            "link to a file outside the folder": [str(folder / name) for name in links],
            "link to a folder outside the folder": [str(folder / "sub" / "up")],
        },
    )
    assert "left out: 3 link to a file outside the folder\n" in err
    (folder / "page.html").unlink()
    code, _, err = command(*indexed, "--overwrite")
    assert code == 2
    assert "but links that lead out of the folder, such as absolute.txt" in err


def test_a_claims_file_that_lies_elsewhere_is_left_out(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    folder, elsewhere = tmp_path / "in" / "pages", tmp_path / "elsewhere.json"
    (folder / "claims").mkdir(parents=True)
    (folder / "page.html").write_text(PAGE, "utf-8")
    claim = {
        "claimID": "c",
        "results": [{"pageID": "page", "url": "https://a.org", "title": "A secret"}],
    }
    elsewhere.write_text(json.dumps(claim), "utf-8")
    (folder / "claims" / "c.json").symlink_to(elsewhere)
    indexed = ("index", "webpages", folder, "--index", tmp_path / "index", "--no-dense", "--json")
    code, out, err = command(*indexed)
    assert (code, json.loads(out)["left_out"]) == (0, {"link to a file outside the folder": 1}), err


@pytest.mark.parametrize("listed", [True, False])
def test_a_parse_that_lies_elsewhere_is_left_out(
    listed: bool, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    parses, elsewhere = tmp_path / "in" / "pdf_json", tmp_path / "a.json"
    parses.mkdir(parents=True)
    elsewhere.write_text(json.dumps({"body_text": [{"text": "A secret.", "section": ""}]}), "utf-8")
    (parses / "a.json").symlink_to(elsewhere)
    column, value = ("pdf_json_files", "pdf_json/a.json") if listed else ("sha", "a")
    (parses.parent / "metadata.csv").write_text(
        f"cord_uid,title,{column}\n1,A paper,{value}\n", "utf-8"
    )
    indexed = (
        "index",
        "cord19",
        parses.parent,
        "--index",
        tmp_path / "index",
        "--no-dense",
        "--json",
    )
    code, out, err = command(*indexed)
    assert code == 0, err
    assert json.loads(out)["left_out_names"] == {
        "link to a file outside the folder": [str(parses / "a.json")]
    }
    assert "secret" not in command("export", tmp_path / "index")[1]


@pytest.mark.parametrize(("kind", "name"), [("beir", "corpus.jsonl"), ("cord19", "metadata.csv")])
def test_the_one_file_of_a_folder_is_no_link_that_leads_out(
    kind: str, name: str, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text(
        "cord_uid,title\n1,A secret\n" if kind == "cord19" else '{"_id": "1", "text": "a"}\n'
    )
    (folder / name).symlink_to(elsewhere)
    code, _, err = command("index", kind, folder, "--index", tmp_path / "index", "--no-dense")
    what = "is a link to a file outside the folder; give the file instead of the folder"
    assert (code, err) == (2, f"factseek: {folder / name}: {what}\n")
    assert (
        command("index", kind, folder / name, "--index", tmp_path / "index", "--no-dense")[0] == 0
    )


UNREAD = {
    "beir": (
        "corpus.jsonl",
        '{"_id": "1", "title": "a", "text": "b", "metadata": {"date": "soon"}}\n',
    ),
    "claims": ("claims.tsv", "id\tvclaim\ttitle\tdate\n1\ta\tb\tsoon\n"),
    "claimreview": (
        "reviews.json",
        (
            '{"@type": "ClaimReview", "url": "https://f.org/1", "claimReviewed": "a", '
            '"datePublished": "soon"}'
        ),
    ),
    "snippets": ("snippets.tsv", "id\ttext\tdate\n1\ta\tsoon\n"),
    "trec": ("news", "<DOC><DOCNO>1</DOCNO><DATE>soon</DATE><TEXT>a</TEXT></DOC>"),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_every_reader_notes_a_bad_date(
    kind: str, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    name, content = UNREAD[kind]
    (tmp_path / name).write_text(content, "utf-8")
    code, _, err = command(
        "index", kind, tmp_path / name, "--index", tmp_path / "index", "--no-dense"
    )
    assert code == 0, err
    assert "note: 1 date is not understood: 'soon' (" in err


def test_dates_that_are_not_understood_are_noted(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    source = tmp_path / "a.csv"
    source.write_text("id;text;date\n1;a;3/4/2020\n2;b;14.3.2020\n3;c;yesterday\n")
    indexed = ("index", "snippets", source, "--index", tmp_path / "index", "--no-dense")
    code, _, err = command(*indexed)
    example = (
        f"such as '3/4/2020' ({source}:2); to filter by date, write YYYY-MM-DD, or use --dates "
        "day-first or month-first"
    )
    assert (code, err) == (0, f"note: 2 dates are not understood, {example}\n")
    code, out, _ = command(*indexed, "--overwrite", "--json")
    assert (code, json.loads(out)["unread_dates"]) == (0, 2)
    _, out, err = command(*indexed, "--overwrite", "--json", "--dates", "month-first")
    assert (json.loads(out)["unread_dates"], err) == (
        1,
        (
            f"note: 1 date is not understood: 'yesterday' ({source}:4); to filter by date, "
            "write YYYY-MM-DD\n"
        ),
    )
