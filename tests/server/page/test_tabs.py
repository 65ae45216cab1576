"""The tabs beside Search: Check, Verify and Add, with what they refuse."""

import fcntl
import gzip
import io
import json
import os
import re
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from flask.testing import FlaskClient

from factseek.indexer.collections import ReadOptions, reader
from factseek.indexer.collections._pages import decode
from factseek.indexer.collections.jsonl import export_document
from factseek.server.app import create_app
from factseek.server.errors import BadInput
from factseek.server.page import add
from factseek.server.page.statements import kind_of, statements_of
from factseek.settings import Config

from ..conftest import Writable, writable
from .test_page import get, links

HERE = {"Sec-Fetch-Site": "same-origin"}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def test_a_claim_goes_along_from_tab_to_tab(client: FlaskClient) -> None:
    claim = "Two doses work?"
    tabs = {
        "Search": f"/?query={quote(claim)}",
        "Check": f"/check?text={quote(claim)}",
        "Verify": f"/verify?claim={quote(claim)}",
        "Add": f"/add?claim={quote(claim)}",
    }
    for address in [*tabs.values(), f"/documents/english/measles?query={quote(claim)}"]:
        page = get(client, f"{address}&index=english")
        for label in tabs:
            (link,) = links(page, label)[:1]
            asked = parse_qs(urlsplit(link).query)
            assert [*asked.values()] == [["english"], [claim]], (address, label)
            assert client.get(link).status_code == 200
    for many in ("/check?text=One.%0ATwo.", "/?index=english&like=moon", f"/?query={'x' * 1200}"):
        page = get(client, many, 400 if "xx" in many else 200)
        assert all(
            "claim" not in links(page, tab)[0] and "query" not in links(page, tab)[0]
            for tab in tabs
        )


def test_tweets_are_ranked_with_the_words_that_weigh_and_their_evidence(
    client: FlaskClient,
) -> None:
    tweets = (
        "Good morning everybody!\nTwo doses of the vaccine are 97 percent effective, a study "
        "of 2020 found."
    )
    page = get(client, f"/check?text={quote(tweets)}")
    texts = [text.split(" ", 1)[1].strip() for text in page.text_of("h2")]
    assert sorted(texts) == sorted(tweets.splitlines())
    assert texts[0].startswith("Two doses")
    evidence = next(
        str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/?query=Two")
    )
    assert 'id="hybrid-1"' in client.get(evidence).text
    assert any(str(a["href"]).startswith("/verify?claim=Two") for a in page.all("a"))


def test_an_upload_leads_to_the_address_of_what_it_holds(client: FlaskClient) -> None:
    table = 'tweet_id\ttweet_text\n1\tThe moon is far.\n2\t"Said" nobody.\n'
    response = client.post(
        "/check", data={"file": (io.BytesIO(table.encode()), "tweets.tsv"), "kind": "tweets"}
    )
    assert response.status_code == 303
    assert {"The moon is far.", '"Said" nobody.'} <= {
        text.split(" ", 1)[1].strip() for text in get(client, response.location).text_of("h2")
    }


@pytest.mark.parametrize(
    ("text", "kind", "statements"),
    [
        ("One.\n\n Two. Still two.\n", "tweets", [("", "One."), ("", "Two. Still two.")]),
        ('id,text\n1,"a, b"\n', "tweets", [("", "a, b")]),
        ('Tweet ID;Tweet Text\n1;"a; b"\n2;c, d\n', "tweets", [("", "a; b"), ("", "c, d")]),
        ("id\ttext\r1\tOne.\r2\tTwo.\r", "tweets", [("", "One."), ("", "Two.")]),
        (
            "ANNA: One. Two.\nThree.\nMr. B: Four.",
            "transcript",
            [("ANNA", "One."), ("ANNA", "Two."), ("ANNA", "Three."), ("Mr. B", "Four.")],
        ),
        ("史密斯：水会沸腾。", "transcript", [("史密斯", "水会沸腾。")]),
        (
            (
                "1\n00:00:01,000 --> 00:00:02,000\nIt fell by\n3 percent, which\n\n2\n"
                "00:00:02,000 --> 00:00:03,000\nis bad."
            ),
            "transcript",
            [("", "It fell by 3 percent, which is bad.")],
        ),
        (
            "WEBVTT\n\n00:01.0 --> 00:02.0\n<v Smith>We <i>made</i> it.</v>",
            "transcript",
            [("Smith", "We made it.")],
        ),
        ("\tid\tTweet\n0\t7\ta b\n", "tweets", [("", "a b")]),
        ('sep=;\r\nid;Tweet\r\n1;"a; b"\r\n', "tweets", [("", "a; b")]),
        ('tweet\n"a, b"\nOne, two\n', "tweets", [("", "a, b"), ("", "One, two")]),
        (
            "00:01 --> 00:02\n- Yes.\n- No, they\nrose.",
            "transcript",
            [("", "- Yes."), ("", "- No, they rose.")],
        ),
        (
            "1\n00:00:01,000 --> 00:00:02,000\n[00:01] Anna: Hello there.\n",
            "transcript",
            [("Anna", "Hello there.")],
        ),
    ],
)
def test_statements_are_read_as_people_write_them(
    text: str, kind: str, statements: list[tuple[str, str]]
) -> None:
    assert [(claim.speaker, claim.text) for claim in statements_of(text, kind, 100)] == statements


def test_a_table_whose_tweets_have_no_name_is_refused() -> None:
    for text in ("1\tA b c.\tno\n2\tD e f.\tyes\n", "id\tsatz\twert\n1\tA b c.\tno\n"):
        with pytest.raises(BadInput) as caught:
            statements_of(text, "tweets", 9)
        assert caught.value.unnamed.startswith("the lines are rows of a table")
    assert len(statements_of("A\tb c.\nD e f.\n", "tweets", 9)) == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("BREAKING: One.\nUPDATE: Two.\nMORE: Three.", "tweets"),
        ("10:30 is when the train leaves.\nTwo.\nThree.", "tweets"),
        ("id\ttext\n1\t" + "One sentence. " * 40, "tweets"),
        ("The vaccine is safe. " * 20, "transcript"),
        ("ANNA: One.\nBEN: Two.\nANNA: Three.", "transcript"),
        ("[00:01] One.\n[00:05] Two.", "transcript"),
    ],
)
def test_what_is_obviously_a_transcript_is_read_as_one(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_a_paragraph_comes_back_sentence_by_sentence_and_says_so(client: FlaskClient) -> None:
    paragraph = " ".join(
        f"In {year} the number of cases fell by {year - 1960} percent."
        for year in range(2000, 2006)
    )
    page = get(client, f"/check?text={quote(paragraph)}")
    assert len(page.text_of("h2")) == 6 + 1  # and the heading of the text in its order
    note = "The text was read as a transcript. Sentences: 6. Read it as tweets, one per line"
    assert note in page.text_of("p")
    whole = get(client, links(page, "Read it as tweets, one per line")[0])
    assert [text.split(" ", 1)[1].strip() for text in whole.text_of("h2")] == [paragraph]
    assert any(
        text.startswith("The text was read as tweets, one per line. Tweets: 1.")
        for text in whole.text_of("p")
    )


@pytest.mark.parametrize(
    ("path", "field"), [("/", "query"), ("/check", "text"), ("/verify", "claim")]
)
def test_a_text_that_is_too_long_for_an_address_is_kept_in_another_language(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str, field: str
) -> None:
    for module in ("layout", "check", "verify"):
        monkeypatch.setattr(
            f"factseek.server.page.{module}.short_of", lambda _: None, raising=False
        )
    monkeypatch.setattr("factseek.server.page.layout.LONGEST_ADDRESS", 30)
    monkeypatch.setattr("factseek.server.page.routes.short_of", lambda _: None)
    text = "Two doses work.\nThe measles vaccine is effective."
    page = client.post(path, data={field: text, "index": "english"}).text
    again = f'value="?index=english&amp;lang=ar" formaction="{path}" class="link "><span lang="ar">'
    assert again in page
    assert f'<input type="hidden" name="{field}" value="{text}"></form>' in page
    other = client.post(path, data={field: text, "to": "?index=english&lang=ar"}).text
    assert '<html lang="ar"' in other
    assert "The measles vaccine is effective." in other
    if path == "/check":
        assert 'value="?kind=transcript&amp;index=english" formaction="/check"' in page


def test_a_statement_that_is_too_long_is_named_with_what_to_do(client: FlaskClient) -> None:
    response = client.get(f"/check?text=One.%0A{'x' * 400}")
    assert response.status_code == 400
    assert (
        "Statement 2 has 400 characters, but at most 300 are allowed; put each statement on its own"
        in response.text
    )


@pytest.mark.parametrize(
    ("lang", "reason"), [("en", "There is nothing to check: paste tweets"), ("ar", "لا شيء للفحص")]
)
def test_an_empty_box_is_told_what_to_do(client: FlaskClient, lang: str, reason: str) -> None:
    response = client.post("/check", data={"text": " ", "lang": lang})
    assert response.status_code == 400
    assert reason in response.text
    assert 'role="alert"' in response.text


@pytest.mark.parametrize(
    ("index", "english", "arabic"),
    [
        ("", {}, {"index": ["arabic"]}),
        ("&index=arabic", {"index": ["english"]}, {"index": ["arabic"]}),
        ("&index=english&index=arabic", {"index": ["english"]}, {"index": ["arabic"]}),
    ],
)
def test_evidence_is_looked_for_in_the_index_of_the_language(
    client: FlaskClient, index: str, english: dict[str, list[str]], arabic: dict[str, list[str]]
) -> None:
    page = get(
        client,
        f"/check?text={quote('The moon is far.')}%0A{quote('نهر النيل أطول الأنهار.')}{index}",
    )
    asked = [
        (address.path, parse_qs(address.query))
        for a in page.all("a")
        if (address := urlsplit(str(a["href"]))).path in ("/", "/verify") and address.query
    ]
    links_of = {name: [q for path, q in asked if name in q] for name in ("query", "claim")}
    for field, addresses in links_of.items():
        of_text = {q[field][0]: q.get("index") for q in addresses}
        assert of_text["The moon is far."] == english.get("index")
        assert of_text["نهر النيل أطول الأنهار."] == arabic.get("index")


@pytest.mark.parametrize("kind", ["tweets", "transcript"])
def test_more_statements_than_are_checked_at_once_are_refused(
    client: FlaskClient, kind: str
) -> None:
    text = "The sea level rises.\n" * 21
    response = client.get("/check", query_string={"text": text, "kind": kind})
    assert response.status_code == 400
    assert "he text contains more than 20 statements; check fewer at once" in response.text


@pytest.mark.parametrize(
    ("content", "reason"), [(PNG, ".png is an image (PNG), not text"), (b" \n", ".png is empty")]
)
def test_what_is_no_text_is_not_checked(client: FlaskClient, content: bytes, reason: str) -> None:
    response = client.post("/check", data={"file": (io.BytesIO(content), "a.png")})
    assert response.status_code == 400
    assert f'dir="auto">a{reason}' in response.text


def test_a_claim_is_judged_with_its_sentences_and_a_warning(client: FlaskClient) -> None:
    claim = "Two doses of the measles vaccine are about 97 percent effective."
    response = client.get(f"/verify?index=english&claim={quote(claim)}")
    page = get(client, f"/verify?index=english&claim={quote(claim)}")
    dated = get(client, f"/verify?index=english&claim={quote(claim)}&as_of=2030&lang=en")
    documents = [str(a["href"]) for a in dated.all("a") if str(a["href"]).startswith("/documents/")]
    assert documents
    assert all(
        "index=english" in address and "as_of=2030&lang=en" in address for address in documents
    )
    assert (
        "Two doses of the measles vaccine are about 97 percent effective against measles."
        in page.text_of("p")
    )
    assert "2019-05-02" in page.text_of("time")
    assert "A program drafted this verdict. A person decides." in response.text
    assert "The model few was trained on 6 claims." in response.text
    assert "These claims are too few to measure how often the model is right." in response.text
    assert {"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"} <= set(page.text_of("span"))


def test_beside_a_verdict_the_page_says_if_nothing_bears_on_the_claim(client: FlaskClient) -> None:
    claim = "The prime minister raised the minimum wage"
    text = client.get(f"/verify?index=english&claim={quote(claim)}").text
    assert "A program drafted this verdict. A person decides." in text
    assert "Nothing here seems to bear on this." in text


def test_there_is_no_verdict_without_evidence(client: FlaskClient) -> None:
    text = client.get("/verify?index=english&claim=measles&as_of=1800").text
    assert "No verdict" in text
    assert "No sentence bears on this claim." in text
    assert "<meter" not in text


def test_without_a_model_of_entailment_the_sentences_take_no_side(client: FlaskClient) -> None:
    address = f"/verify?index=arabic&lang=en&claim={quote('نهر النيل')}"
    page, text = get(client, address), client.get(address).text
    assert page.text_of("h2") == ["Closest sentences 2"]  # of an index without vectors
    assert "نهر النيل هو أطول أنهار العالم." in page.text_of("p")
    assert "does not decide which side they take" in text
    assert not any(word in text for word in ("Sentences for the claim", "verdict", "<meter"))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/check?text=measles", "This server cannot rank texts yet"),
        ("/add", "Nothing can be added on this server"),
    ],
)
def test_a_tab_that_lacks_a_thing_says_how_to_get_it(
    config: Config, app: object, address: str, said: str
) -> None:
    bare = create_app(Config(), {"english": app.extensions["factseek"].indexes["english"].index})  # type: ignore[attr-defined]
    text = bare.test_client().get(address).text
    assert said in text
    assert "factseek " in text


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("/verify?index=english&claim=%3F%21", "The claim contains no words to search for."),
        ("/verify?claim=a&as_of=soon", "&#39;soon&#39; is not a date"),
        ("/check?text=a&kind=poem", "Kind: invalid enum value"),
    ],
)
def test_what_makes_no_sense_is_said_on_the_tab(
    client: FlaskClient, address: str, reason: str
) -> None:
    response = client.get(address, headers={"Accept": "text/html"})
    assert response.status_code == 400
    assert reason in response.text
    assert 'role="alert"' in response.text


def test_a_page_is_looked_at_added_and_found(live: Path, root: Path) -> None:
    html = (root / "examples" / "pages-ar" / "ar-nile-dams.html").read_bytes()
    with writable(live) as serving:
        client = serving.client()
        shown = client.post(
            "/add", data={"file": (io.BytesIO(html), "dams.html"), "act": "preview"}, headers=HERE
        )
        assert shown.status_code == 200
        fields = dict(_fields(shown.text))
        assert fields["title"]
        assert fields["text"].splitlines()[0] in decode(html)
        added = client.post("/add", data={**fields, "act": "add"}, headers=HERE)
        assert added.status_code == 200
        document = client.get(f"/documents/live/{quote(fields['docid'])}")
        assert document.status_code == 200
        again = client.post("/add", data={**fields, "act": "add"}, headers=HERE)
        assert again.status_code == 400
        assert "already" in again.text
        for text, replace, counted in (
            ("A table.", {}, "Added: 1. Replaced: 0. Unchanged: 0. Refused: 0."),
            ("It changed.", {}, "Added: 0. Replaced: 0. Unchanged: 0. Refused: 1."),
            ("It changed.", {"replace": "yes"}, "Added: 0. Replaced: 1. Unchanged: 0. Refused: 0."),
        ):
            table = io.BytesIO(f"docid,text,date\nrow,{text},2020\n".encode())
            shown = client.post(
                "/add",
                data={"file": (table, "t.csv"), "act": "preview", "lang": "en"},
                headers=HERE,
            )
            assert '<input type="checkbox" name="replace" value="yes">' in shown.text
            fields = dict(_fields(shown.text)) | replace
            assert counted in client.post("/add", data={**fields, "act": "add"}, headers=HERE).text
        table = io.BytesIO(b"docid,text,date\nrow,A table.,2020\nnone,,2020\n")
        typed = {"source": "WHO", "text": "typed", "act": "preview", "lang": "en"}
        shown = client.post("/add", data={"file": (table, "t.csv"), **typed}, headers=HERE).text
        assert "2020 · WHO" in shown
        assert "left out: 1 no text, the first at t.csv:3" in shown
        assert "not used, because a file was chosen: text" in shown
        own_form = client.post(
            "/add", data={"text": "a", "act": "preview"}, headers={"Origin": "http://localhost"}
        )
        assert own_form.status_code == 200
        _refusals(serving)


PAGE = b"<html><body><article><p>All the old pipes of the harbour are gone, it said.</p></article>"
FILES = {
    "note.md": b"---\ntitle: Pipes\ndate: 2020-03-03\n---\nThe *old* pipes are gone.\n",
    "mail.eml": b"From: a@b.example\r\nSubject: Pipes\r\n\r\nThe old pipes are gone.\r\n",
    "saved.mhtml": (
        b"Snapshot-Content-Location: https://n.example/1\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: text/html\r\n\r\n" + PAGE
    ),
    "desk.csv": (
        "Datum;Behauptung;Bewertung;Erklärung;Quelle\n12.01.2025;Rohre sind alt.;Falsch;Alle "
        "wurden ersetzt.;https://f.example/2\n"
    ).encode("cp1252"),
    "saved.html": (
        b'<script type="application/ld+json">{"@type": "ClaimReview", "url": "https://f.example/3",'
        b'"claimReviewed": "No pipes.", "reviewRating": {"alternateName": "False"}}</script>' + PAGE
    ),
    "reviews.jsonld": (
        b'[{"@type": "ClaimReview", "url": "https://f.example/1", "claimReviewed": "No pipes.", '
        b'"reviewRating": {"alternateName": "False"}}]'
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_the_same_documents_as_the_command(
    name: str, live: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    kind = "claimreview" if name in ("desk.csv", "saved.html", "reviews.jsonld") else "webpages"
    expected = [
        json.loads(export_document(record.document))
        for record in reader(kind).read([tmp_path / name], ReadOptions(language="ar"))
    ]
    assert len(expected) == 1
    with writable(live) as serving:
        shown = serving.client().post(
            "/add", data={"file": (io.BytesIO(FILES[name]), name), "act": "preview"}, headers=HERE
        )
        assert shown.status_code == 200, shown.text
        assert json.loads(dict(_fields(shown.text))["rows"]) == expected


def test_the_user_names_the_header_and_the_texts_of_a_table(live: Path) -> None:
    table = b"Old,Older\nOur desk\nNo,Saying,Outcome\n1,Pipes leak.,They do not.\n"
    with writable(live) as serving:
        shown = serving.client().post(
            "/add",
            data={
                "file": (io.BytesIO(table), "t.csv"),
                "column": "header-row=3, text=Saying, text=Outcome, id=No",
                "act": "preview",
            },
            headers=HERE,
        )
        (row,) = json.loads(dict(_fields(shown.text))["rows"])
    assert (row["docid"], row["text"]) == ("1", "Pipes leak.\nThey do not.")
    assert row["metadata"] == {"part_starts": [0, 12]}


def test_what_a_desk_found_is_shown_under_its_claim(live: Path) -> None:
    with writable(live) as serving:
        client = serving.client()
        file = (io.BytesIO(FILES["desk.csv"]), "desk.csv")
        shown = client.post("/add", data={"file": file, "act": "preview"}, headers=HERE)
        fields = dict(_fields(shown.text))
        client.post("/add", data={**fields, "act": "add"}, headers=HERE)
        english = {"index": "live", "lang": "en", "retriever": "bm25"}
        by_claim = client.get("/", query_string={**english, "query": "Rohre"}).text
        found = "<span>What was found</span> <bdi[^>]*>Alle wurden ersetzt.</bdi>"
        assert re.search(found, by_claim)
        by_finding = client.get("/", query_string={**english, "query": "ersetzt"}).text
        assert re.search("<span>Claim</span> <bdi[^>]*>Rohre sind alt.</bdi>", by_finding)
        assert by_finding.count("What was found") == 1  # the label of the passage
        document = client.get("/documents/live/https://f.example/2?lang=en").text
        assert '<p class="none" dir="ltr">Claim</p>' in document
        assert '<p class="none" id="found" dir="ltr">What was found</p>' in document


def test_a_third_file_is_not_read_at_once(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add, "gettempdir", lambda: str(live))
    with writable(live, write_seconds=0.5) as serving, ExitStack() as locks:
        for number, status in ((0, 200), (1, 503)):
            lock = locks.enter_context((live / f"factseek-{os.getuid()}-reads-{number}").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            shown = serving.client().post(
                "/add",
                data={
                    "file": (io.BytesIO(FILES["note.md"]), "note.md"),
                    "act": "preview",
                    "lang": "en",
                },
                headers=HERE,
            )
            assert shown.status_code == status
        assert "Two other files are being read now; try again later" in shown.text


def _refusals(serving: Writable) -> None:
    client = serving.client()
    foreign = client.post(
        "/add", data={"text": "a", "act": "add"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert foreign.status_code == 403
    assert client.post("/add", data={"text": "a", "act": "add"}).status_code == 403
    for name, content, reason in (
        ("photo.png", PNG, "hoto.png is an image (PNG), not a web page"),
        ("empty.html", b"", "mpty.html is empty."),
        ("menu.html", b"<html><body></body></html>", "paste its text instead"),
        (
            "bad.jsonl",
            b'{"post": "a"}\n',
            "bad.jsonl:1: has no &#34;text&#34; (or &#34;snippet&#34;); name the column of the "
            "texts below, as in text=Finding.</p>",
        ),
    ):
        response = client.post(
            "/add", data={"file": (io.BytesIO(content), name), "act": "preview"}, headers=HERE
        )
        assert response.status_code == 400
        assert reason in response.text, name
    without = serving.app.test_client()
    assert (without.get("/").status_code, without.get("/add").status_code) == (200, 401)
    asked = without.post("/add", data={"text": "a", "act": "preview"}, headers=HERE)
    assert (asked.status_code, "Basic" in asked.headers["WWW-Authenticate"]) == (401, True)


def _fields(text: str) -> list[tuple[str, str]]:
    class Fields(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.values: list[tuple[str, str]] = []
            self.area = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found = dict(attrs)
            if tag == "input" and found.get("value") and found.get("type") != "checkbox":
                self.values.append((found["name"] or "", found["value"] or ""))
            self.area = (found.get("name") or "") if tag == "textarea" else ""
            if self.area:
                self.values.append((self.area, ""))

        def handle_data(self, data: str) -> None:
            if self.area:
                self.values[-1] = (self.area, data.removeprefix("\n"))
                self.area = ""

    parser = Fields()
    parser.feed(text)
    return parser.values


def test_a_file_of_more_documents_than_a_form_takes_names_the_command(live: Path) -> None:
    with writable(live, max_bulk=2) as serving:
        table = io.BytesIO(b"docid,text\na,One.\nb,Two.\nc,Three.\n")
        shown = serving.client().post("/add", data={"file": (table, "t.csv")}, headers=HERE)
        assert shown.status_code == 400
        reason = (
            "t.csv has more than 2 documents, the most of a form (server.max_bulk); index it with "
            "factseek index KIND FILE --append --index DIR, which has no such limit."
        )
        assert reason in shown.text


def test_a_web_archive_gives_its_pages_as_on_the_command_line(live: Path) -> None:
    page = "<html><body><article><p>The lead pipes in the old town are gone.</p></article></body>"
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}"
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://a.example/1\r\n"
        f"WARC-Date: 2021-01-01T10:00:00Z\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    archive = gzip.compress(f"{head}{http}\r\n\r\n".encode())
    table = gzip.compress(b"docid,text\nx,The pipes are old.\n")
    with writable(live, write_seconds=60.0) as serving:
        client = serving.client()
        for name, content, docid in (
            ("a.warc.gz", archive, "https://a.example/1"),
            ("t.csv.gz", table, "x"),
        ):
            data = {"file": (io.BytesIO(content), name), "act": "preview"}
            shown = client.post("/add", data=data, headers=HERE)
            rows = dict(_fields(shown.text))["rows"]
            assert [row["docid"] for row in json.loads(rows)] == [docid]


def test_what_is_added_is_in_passages_as_the_preview_and_the_command_have_it(
    live: Path, tmp_path: Path
) -> None:
    sentence = "The harbour has an old pipe of clay and nobody knows who laid it there. "
    page = f"<html><body><article><p>{sentence * 40}</p></article></body></html>".encode()
    table = f"docid,text\nrow,{sentence * 40}\n".encode()
    with writable(live, write_seconds=60.0) as serving:
        client = serving.client()
        for name, content, kind, many in (
            ("page.html", page, "webpages", True),
            ("page.md", sentence.encode() * 40, "webpages", True),
            ("table.csv", table, "snippets", False),
        ):
            data = {"file": (io.BytesIO(content), name), "act": "preview", "lang": "en"}
            fields = dict(_fields(client.post("/add", data=data, headers=HERE).text))
            added = client.post("/add", data={**fields, "act": "add"}, headers=HERE)
            assert added.status_code == 200, added.text
            docid = fields.get("docid") or json.loads(fields["rows"])[0]["docid"]
            document = client.get(f"/v1/live/documents/{quote(docid)}").json
            assert document is not None
            assert (len(document["passages"]) > 1) == many, name
            found = client.get(f"/v1/live/search?query=harbour&filter=kind={kind}").json
            assert found is not None
            assert docid in [hit["docid"] for hit in found["hits"]], name
