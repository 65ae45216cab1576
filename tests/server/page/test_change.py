"""A document is edited and deleted on the page, and either is undone."""

import json
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.cluster.build import build_shards
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.export import export
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.auth import digest
from factseek.server.settings import ServerSettings
from factseek.settings import Config

from ..conftest import KEY, MAY, Writable, writable

HERE = {"Sec-Fetch-Site": "same-origin"}
DOCUMENT = {"title": "Pipes", "text": "The old pipes are gone.", "metadata": {"rating": "False"}}
GONE = "No search in live finds it any more."


@pytest.fixture(scope="module")
def served(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Writable]:
    folder = Path(shutil.copytree(folders["arabic"], tmp_path_factory.mktemp("change") / "live"))
    with writable(folder, write_seconds=60.0) as serving:
        yield serving


@pytest.fixture
def client(served: Writable) -> FlaskClient:
    client = served.client()
    assert client.put("/v1/live/documents/pipes", json=DOCUMENT).status_code in (200, 201)
    return client


class _Fields(HTMLParser):
    """The values of the fields of a page's forms."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._area = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._area = (found.get("name") or "") if tag == "textarea" else ""
        if tag == "input" and found.get("value"):
            self.values[found["name"] or ""] = found["value"] or ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.values[self._area] = data.removeprefix("\n")
            self._area = ""


def fields_of(client: FlaskClient, address: str) -> dict[str, str]:
    shown = client.get(f"{address}?lang=en")
    assert shown.status_code == 200, shown.text
    return _Fields(shown.text).values


def document(client: FlaskClient) -> dict[str, object]:
    return client.get("/v1/live/documents/pipes").json["document"]  # type: ignore[index]


def test_a_document_is_edited_and_the_edit_undone(client: FlaskClient) -> None:
    before = document(client)
    fields = fields_of(client, "/edit/live/pipes")
    assert fields["text"] == DOCUMENT["text"]
    # A browser sends line ends as two characters.
    changed = {**fields, "text": "The new pipes\r\nare here.", "date": "2024-05", "act": "save"}
    saved = client.post("/edit/live/pipes", data=changed, headers=HERE)
    assert saved.status_code == 200
    assert "The document was changed." in saved.text
    assert "The old pipes are gone." in saved.text
    now = document(client)
    assert (now["text"], now["date"]) == ("The new pipes\nare here.", "2024-05")
    assert now["metadata"] == before["metadata"]
    undone = client.post("/undo/live/pipes", data=_Fields(saved.text).values, headers=HERE)
    assert "The earlier version of the document is back." in undone.text
    assert document(client) == before
    again = client.post("/edit/live/pipes", data={**fields, "act": "save"}, headers=HERE)
    assert "Nothing was different, so nothing was changed." in again.text


def test_a_document_is_deleted_and_brought_back(client: FlaskClient) -> None:
    before = client.get("/v1/live/documents/pipes")
    shown = client.get("/delete/live/pipes?lang=en").text
    assert "The old pipes are gone." in shown
    gone = client.post("/delete/live/pipes", data=_Fields(shown).values, headers=HERE)
    assert GONE in gone.text
    assert client.get("/v1/live/documents/pipes").status_code == 404
    undone = client.post("/undo/live/pipes", data=_Fields(gone.text).values, headers=HERE)
    assert undone.status_code == 200
    after = client.get("/v1/live/documents/pipes")
    assert after.headers["ETag"] == before.headers["ETag"]
    # It is the same document as before, so it was added when it was added.
    assert after.json["added"] == before.json["added"]  # type: ignore[index]
    found = client.post("/v1/live/search", json={"query": "pipes"}).json["hits"]  # type: ignore[index]
    assert [hit["docid"] for hit in found] == ["pipes"]


@pytest.mark.parametrize(
    ("page", "typed", "reason"),
    [
        (
            "edit",
            {"text": "Mine.", "act": "save"},
            "This document was changed while you edited it; what it says now is below, and if you "
            "save again, your version replaces it.",
        ),
        (
            "delete",
            {},
            "This document was changed since you opened this page; read what it says now before "
            "you delete it.",
        ),
    ],
)
def test_a_document_that_changed_meanwhile_is_shown_first(
    client: FlaskClient, page: str, typed: dict[str, str], reason: str
) -> None:
    fields = {**fields_of(client, f"/{page}/live/pipes"), **typed}
    client.put("/v1/live/documents/pipes", json={"text": "Theirs."})
    shown = client.post(f"/{page}/live/pipes", data=fields, headers=HERE)
    assert shown.status_code == 409
    assert reason in shown.text
    assert "Theirs." in shown.text
    assert document(client)["text"] == "Theirs."
    again = {**fields, **_Fields(shown.text).values}
    assert again.get("text", "Mine.") == "Mine."
    assert client.post(f"/{page}/live/pipes", data=again, headers=HERE).status_code == 200


def test_a_change_after_an_edit_is_not_undone(client: FlaskClient) -> None:
    fields = fields_of(client, "/edit/live/pipes")
    saved = client.post(
        "/edit/live/pipes", data={**fields, "text": "New.", "act": "save"}, headers=HERE
    )
    client.put("/v1/live/documents/pipes", json={"text": "Newer."})
    undone = client.post("/undo/live/pipes", data=_Fields(saved.text).values, headers=HERE)
    assert undone.status_code == 409
    assert "This document was changed meanwhile; nothing was undone." in undone.text
    assert document(client)["text"] == "Newer."


def test_nothing_is_undone_after_a_compaction(client: FlaskClient, served: Writable) -> None:
    fields = fields_of(client, "/delete/live/pipes")
    gone = client.post("/delete/live/pipes", data=fields, headers=HERE)
    compact(served.folder, served.config, wait=60.0)
    undone = client.post("/undo/live/pipes", data=_Fields(gone.text).values, headers=HERE)
    assert undone.status_code == 409
    reason = (
        "The earlier version is not in the index any more, because the index was compacted "
        "meanwhile; nothing was undone."
    )
    assert reason in undone.text
    assert client.get("/v1/live/documents/pipes").status_code == 404


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/edit/live/pipes", {"text": "Foreign.", "act": "save"}),
        ("/delete/live/pipes", {}),
        ("/undo/live/pipes", {"restore": "0" * 32}),
    ],
)
def test_a_form_of_another_site_changes_nothing(
    client: FlaskClient, served: Writable, address: str, fields: dict[str, str]
) -> None:
    state = client.get("/v1/live/documents/pipes").headers["ETag"][3:-1]
    fields = {**fields, "state": state}
    for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://elsewhere.example"}):
        refused = client.post(address, data=fields, headers=headers)
        assert refused.status_code == 403, headers
        assert refused.json["error"] == "foreign-form"  # type: ignore[index]
    assert served.app.test_client().post(address, data=fields, headers=HERE).status_code == 401
    assert document(client)["text"] == DOCUMENT["text"]


def test_when_and_by_whom_a_document_was_added(client: FlaskClient, served: Writable) -> None:
    anybody = served.app.test_client()
    answer = client.get("/v1/live/documents/pipes").json
    assert answer is not None
    assert answer["added_by"] == "tests"
    public = anybody.get("/v1/live/documents/pipes").json
    assert public is not None
    assert (public["added"], "added_by" in public) == (answer["added"], False)
    built = client.get("/v1/live/documents/amazon").json
    assert built is not None
    assert ("added" in built, "added_by" in built) == (True, False)
    # The page names the key to whoever has one.
    time = answer["added"][:16].replace("T", " ")
    named = "with the key <bdi>tests</bdi>"
    for shown, is_named in ((client, True), (anybody, False)):
        page = shown.get("/documents/live/pipes?lang=en").text
        assert f"{time} UTC</time>" in page
        assert (named in page) == is_named
        manifest = shown.get("/v1/indexes/live").text
        assert ('"by":"tests"' in manifest) == is_named
    lines = {row["docid"]: row for row in map(json.loads, export(served.folder, with_added=True))}
    assert lines["pipes"]["added_by"] == "tests"
    assert lines["pipes"]["added"] == answer["added"]
    compact(served.folder, served.config, wait=60.0)
    with Index(served.folder) as index:
        assert index.addition("pipes")[1:] == (answer["added"], "tests")
        assert index.addition("amazon")[1:] == (built["added"], "")


def test_a_bulk_names_its_key_too(client: FlaskClient, served: Writable) -> None:
    sent = client.post("/v1/live/documents", json=[{"docid": "bulk", "text": "A canal."}])
    assert sent.status_code == 202
    job = sent.json["id"]  # type: ignore[index]
    while client.get(f"/v1/jobs/{job}").json["state"] != "done":  # type: ignore[index]
        pass
    assert "by" not in client.get(f"/v1/jobs/{job}").json  # type: ignore[operator]
    with Index(served.folder) as index:
        assert index.addition("bulk").by == "tests"


def test_a_long_page_is_in_passages_after_it_is_edited(tmp_path: Path) -> None:
    sentence = "The harbour has an old pipe of clay, and nobody knows who laid it there. "
    page = f"<html><body><article><p>{sentence * 40}</p></article></body></html>"
    (tmp_path / "page.html").write_text(page)
    folder = tmp_path / "live"
    source = BuildRequest(
        kind="webpages", sources=(tmp_path / "page.html",), folder=folder, dense=False
    )
    build(source, Config())
    with writable(folder, write_seconds=60.0) as serving:
        client = serving.client()
        (docid,) = [json.loads(line)["docid"] for line in export(folder)]
        fields = fields_of(client, f"/edit/live/{docid}")
        passages = client.get(f"/v1/live/documents/{docid}").json["passages"]  # type: ignore[index]
        assert len(passages) > 1
        changed = {**fields, "title": "Another", "act": "save"}
        saved = client.post(f"/edit/live/{docid}", data=changed, headers=HERE)
        assert saved.status_code == 200, saved.text
        after = client.get(f"/v1/live/documents/{docid}").json
        assert after is not None
        assert after["passages"] == passages
        assert after["document"]["title"] == "Another"
        with Index(folder) as index:
            assert index.addition(docid).kind == "webpages"


def test_an_index_in_shards_offers_no_change(tmp_path: Path) -> None:
    source, folder = tmp_path / "source.jsonl", tmp_path / "shards"
    source.write_text('{"docid": "a", "text": "A canal."}\n{"docid": "b", "text": "A pipe."}\n')
    request = BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False)
    build_shards(request, 2, Config())
    server = ServerSettings(writes=True, keys={"tests": digest(KEY)}, indexes={"live": str(folder)})
    config = Config(server=server)
    with Index(folder, config) as index:
        client = create_app(config, {"live": index}).test_client()
        shown = client.get("/documents/live/a?lang=en", headers=MAY)
        assert shown.status_code == 200
        assert "UTC</time>" in shown.text
        assert "/edit/" not in shown.text
        assert client.get("/edit/live/a", headers=MAY).json["error"] == "has-shards"  # type: ignore[index]


def test_an_undo_without_its_form_leads_to_the_document(client: FlaskClient) -> None:
    answer = client.get("/undo/live/pipes")
    assert (answer.status_code, answer.location) == (303, "/documents/live/pipes")
