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
