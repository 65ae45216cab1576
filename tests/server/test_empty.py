"""A server begins with an empty index: searches find nothing and say so, and Add fills it."""

from pathlib import Path

from factseek.indexer.build import BuildRequest, create_empty
from factseek.settings import Config

from .conftest import writable

HERE = {"Sec-Fetch-Site": "same-origin"}
TEXT = "The old pipes of the harbour are gone."


def test_an_empty_index_is_served_and_filled(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    create_empty(BuildRequest(kind="", sources=(), folder=folder, dense=False), Config())
    with writable(folder, write_seconds=60.0) as serving:
        client = serving.client()
        assert client.get("/readyz").json == {"status": "ok", "indexes": {"live": "ready"}}
        for address in ("/?lang=en", "/?lang=en&query=pipes", "/verify?lang=en&claim=Pipes+exist."):
            shown = client.get(address)
            assert shown.status_code == 200
            assert "There are no documents in live yet." in shown.text, address
            assert "Nothing found" not in shown.text
            assert "No sentence bears" not in shown.text
        answer = client.get("/v1/live/search?query=pipes").json
        assert answer is not None
        assert (answer["hits"], answer["note"]) == ([], "the index has no documents yet")
        fields = {"text": TEXT, "title": "Pipes", "docid": "pipes", "lang": "en", "act": "add"}
        added = client.post("/add", data=fields, headers=HERE)
        assert "The document was added to live." in added.text
        shown = client.get("/?lang=en&query=pipes").text
        assert "There are no documents" not in shown
        assert 'href="/documents/live/pipes' in shown
