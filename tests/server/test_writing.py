"""Documents are put, deleted and sent in bulk over HTTP: with a real index, a real keeper and a
real writer.
"""

import json
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import msgspec
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from factseek.indexer.lock import locked
from factseek.indexer.queue import waiting
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config
from tests.server.conftest import ENGLISH, NILE, ODD, Writable, writable

PATIENCE = 60.0
IDS = ["plain", "a/b//c", ODD, "نيل/٢", "emoji-🌊", ".", "../a/./b%2F..", "x" * 512]


@pytest.fixture
def served(live: Path) -> Iterator[Writable]:
    with writable(
        live, write_seconds=PATIENCE, max_bulk=500, max_queued=2, max_body_bytes=50_000
    ) as made:
        yield made


@pytest.fixture(scope="module")
def shared(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FlaskClient]:
    folder = Path(shutil.copytree(folders["arabic"], tmp_path_factory.mktemp("shared") / "live"))
    with writable(folder, write_seconds=PATIENCE, max_bulk=500, max_body_bytes=50_000) as made:
        yield made.client()


@pytest.fixture
def client(served: Writable) -> FlaskClient:
    return served.client()


def address(docid: str) -> str:
    return "/v1/live/documents/" + "".join(f"%{byte:02X}" for byte in docid.encode())


def put(client: FlaskClient, docid: str, text: str, **more: Any) -> TestResponse:
    return client.put(address(docid), json={"text": text, **more.pop("fields", {})}, **more)


def found(client: FlaskClient, query: str) -> list[str]:
    answer = client.post("/v1/live/search", json={"query": query, "k": 100})
    assert answer.status_code == 200, answer.text
    return [hit["docid"] for hit in answer.json["hits"]]  # type: ignore[index]


def problem(response: TestResponse) -> tuple[int, str, str, str]:
    said = response.json or {}
    assert response.mimetype == "application/problem+json", response.text
    return response.status_code, said["error"], said.get("field", ""), said["detail"]


def ended(client: FlaskClient, where: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while True:
        job: dict[str, Any] = client.get(where).json  # type: ignore[assignment]
        if job["state"] in ("done", "failed"):
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.02)


def counts(job: dict[str, Any]) -> tuple[int, ...]:
    return tuple(
        job[name] for name in ("documents", "handled", "added", "replaced", "unchanged", "refused")
    )


def test_what_is_put_is_found_by_the_next_search(client: FlaskClient) -> None:
    first = put(client, "quokka", "The quokka smiles.")
    assert (first.status_code, first.json["result"]) == (201, "created")  # type: ignore[index]
    assert found(client, "quokka") == ["quokka"]
    second = put(client, "quokka", "The wombat digs.")
    assert (second.status_code, second.json["result"]) == (200, "replaced")  # type: ignore[index]
    assert (found(client, "quokka"), found(client, "wombat")) == ([], ["quokka"])
    third = put(client, "quokka", "The wombat digs.")
    assert (third.status_code, third.json["result"]) == (200, "unchanged")  # type: ignore[index]
    assert third.json["manifest_id"] == second.json["manifest_id"]  # type: ignore[index]
    assert third.headers["ETag"] == second.headers["ETag"] != first.headers["ETag"]
    assert client.get(address("quokka")).headers["ETag"] == third.headers["ETag"]
    gone = client.delete(address("quokka"))
    assert (gone.status_code, gone.data) == (204, b"")
    assert found(client, "wombat") == []
    assert problem(client.delete(address("quokka"))) == (
        404,
        "unknown-document",
        "",
        "there is no document 'quokka' in this index",
    )


@pytest.mark.parametrize("docid", IDS)
def test_a_docid_may_hold_anything_but_white_space(shared: FlaskClient, docid: str) -> None:
    made = put(shared, docid, "The quokka smiles.")
    assert made.status_code == 201, made.text
    assert made.headers["Location"].isascii()
    if docid != ".":  # which no address can say to a client that resolves dots
        assert (
            urljoin("http://host/", made.headers["Location"])
            == f"http://host{made.headers['Location']}"
        )
    for where in (address(docid), made.headers["Location"]):
        assert shared.get(where).json["document"]["docid"] == docid  # type: ignore[index]
    assert found(shared, "quokka") == [docid]
    assert shared.delete(address(docid)).status_code == 204


def test_what_is_answered_is_taken_and_is_the_same(client: FlaskClient) -> None:
    for document in ENGLISH:
        fields = {
            name: value
            for name, value in document.items()
            if name not in ("docid", "text", "pages")
        }
        assert put(
            client,
            document["docid"],
            document["text"],
            fields={**fields, "metadata": {"pages": [1]}},
        ).json
        answer = client.get(address(document["docid"])).json["document"]  # type: ignore[index]
        again = client.put(address(document["docid"]), json=answer)
        assert again.json["result"] == "unchanged", again.text  # type: ignore[index]
    before = client.get(address(NILE)).json["document"]  # type: ignore[index]
    assert client.put(address(NILE), json=before).json["result"] == "unchanged"  # type: ignore[index]


BAD = [
    ("a b", {"text": "x"}, "docid", "docid 'a b' contains white space"),
    ("x" * 513, {"text": "x"}, "docid", f"docid {'x' * 40 + '…'!r} takes 513 bytes, more than 512"),
    ("a", {"text": ""}, "text", "has neither text nor title"),
    ("a", {"title": "x"}, "text", "is missing"),
    ("a", {"text": "x", "txt": "y"}, "txt", "there is no such field"),
    ("a", {"text": "x\0"}, "body", "contains a NUL character in a string"),
]


@pytest.mark.parametrize(("docid", "body", "field", "reason"), BAD)
def test_what_makes_no_sense(
    shared: FlaskClient, docid: str, body: dict[str, Any], field: str, reason: str
) -> None:
    assert problem(shared.put(address(docid), json=body)) == (
        400,
        "bad-input",
        field,
        f"{field}: {reason}",
    )


@pytest.mark.parametrize("date", ["yesterday", "2020-02-30", "31/31/2020", "15830208001", "?"])
def test_a_date_that_is_not_understood_is_said(client: FlaskClient, date: str) -> None:
    answer = client.put(address("dated"), json={"text": "A quokka.", "date": date})
    assert (answer.status_code, answer.json["unread_date"]) == (201, date)  # type: ignore[index]
    kept = client.get(address("dated")).json["document"]  # type: ignore[index]
    assert (kept["date"], kept["metadata"]["date"]) == ("", date)
    rows = [
        {"docid": "fine", "text": "x", "date": "2020-03"},
        {"docid": "none", "text": "x", "date": ""},
    ]
    rows += [{"docid": f"odd{n}", "text": "x", "date": date} for n in range(2)]
    job = ended(client, client.post("/v1/live/documents", json=rows).headers["Location"])
    assert (job["added"], job["unread_dates"], job["unread_date"]) == (4, 2, f"{date!r} (item 3)")


@pytest.mark.parametrize(
    ("written", "code"), [("French", "fr"), ("eng", "en"), ("en-US", "en"), ("Klingonese", "und")]
)
def test_a_language_is_what_its_name_means(client: FlaskClient, written: str, code: str) -> None:
    assert client.put(
        address("spoken"), json={"text": "A quokka.", "language": written}
    ).status_code in (200, 201)
    assert client.get(address("spoken")).json["document"]["language"] == code  # type: ignore[index]
    search = {"query": "quokka", "filter": [f"language={written if code != 'und' else code}"]}
    assert "spoken" in [
        hit["docid"] for hit in client.post("/v1/live/search", json=search).json["hits"]
    ]  # type: ignore[index]


def test_conditions(client: FlaskClient) -> None:
    absent, there = {"If-None-Match": "*"}, {"If-Match": "*"}
    conflict = (
        412,
        "precondition-failed",
        "",
        "the document is not in the state that the request requires",
    )
    assert problem(put(client, "a", "one", headers=there)) == conflict
    assert problem(client.delete(address("a"), headers=there)) == conflict
    tag = put(client, "a", "one", headers=absent).headers["ETag"]
    assert problem(put(client, "a", "two", headers=absent)) == conflict
    assert put(client, "a", "two", headers={"If-Match": tag}).status_code == 200
    assert problem(put(client, "a", "three", headers={"If-Match": tag})) == conflict
    assert problem(client.delete(address("a"), headers={"If-Match": tag})) == conflict
    now = client.get(address("a")).headers["ETag"]
    assert client.delete(address("a"), headers={"If-Match": f'"0", {now}'}).status_code == 204
    assert problem(put(client, "a", "b", headers={"If-None-Match": tag}))[:3] == (
        400,
        "bad-input",
        "If-None-Match",
    )
    assert problem(put(client, "a", "b", headers={"If-Match": ""}))[:3] == (
        400,
        "bad-input",
        "If-Match",
    )


def test_of_many_at_once_one_creates_and_none_is_lost(served: Writable) -> None:
    def create(number: int) -> tuple[int, int]:
        client = served.client()
        same = put(client, "same", f"try {number}", headers={"If-None-Match": "*"}).status_code
        return same, put(client, f"own-{number}", f"The quokka number {number}.").status_code

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(create, range(16)))
    assert sorted(same for same, _ in answers) == [201] + [412] * 15
    assert {own for _, own in answers} == {201}
    assert len(found(served.client(), "quokka")) == 16


@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
def test_a_bulk_from_beginning_to_end(client: FlaskClient, served: Writable, media: str) -> None:
    put(client, "there", "The same.")
    put(client, "other", "Another.")
    documents: list[Any] = [
        {"docid": "new", "text": "A quokka.\nIt smiles.", "more": {"kept": True}},
        {"docid": "there", "text": "The same."},
        {"docid": "other", "text": "It was replaced."},
        {"docid": "new", "text": "A wombat."},
        {"docid": "new", "text": "A quokka.\nIt smiles.", "more": {"kept": True}},
        {"docid": "a b", "text": "x"},
        {"docid": "n", "text": ""},
        {"text": "x"},
    ]
    body = (
        json.dumps(documents, indent=1)
        if media == "application/json"
        else "\n".join(map(json.dumps, documents))
    )
    answer = client.post("/v1/live/documents", data=body, content_type=media)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/v1/jobs/{answer.json['id']}"  # type: ignore[index]
    job = ended(client, answer.headers["Location"])
    assert (job["state"], job["index"], job["mode"], job["error"]) == ("done", "live", "update", "")
    assert counts(job) == (8, 8, 1, 1, 2, 4)
    assert [(one["item"], one["docid"], one["reason"]) for one in job["refusals"]] == [
        (4, "new", "docid 'new' is already item 1, with different content"),
        (6, "", "docid 'a b' contains white space"),
        (7, "", "has neither text nor title"),
        (8, "", 'has no "docid", "id" or "_id"'),
    ]
    assert job["created"] <= job["started"] <= job["ended"]
    # This worker's keeper looks twice a second.
    deadline = time.monotonic() + PATIENCE
    while found(client, "quokka") != ["new"] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert client.get(address("new")).json["document"]["metadata"] == {"more": {"kept": True}}  # type: ignore[index]
    assert client.get(address("other")).json["document"]["text"] == "It was replaced."  # type: ignore[index]
    assert not any("/" in str(value) for value in job.values() if isinstance(value, str))


def test_a_job_names_the_index_not_its_alias(live: Path) -> None:
    alias = live.with_name("alias")
    alias.symlink_to(live)
    with writable(alias, beside={"own": str(live)}) as served:
        client = served.client()
        answer = client.post("/v1/own/documents", json=[{"docid": "d", "text": "A quokka."}])
        assert ended(client, answer.headers["Location"])["index"] == "own"
        assert put(client, "through-the-alias", "A numbat.").status_code == 201
        assert client.get("/v1/own/documents/through-the-alias").status_code == 200


def test_a_bulk_may_only_append(client: FlaskClient) -> None:
    put(client, "there", "The same.")
    rows = [{"docid": "there", "text": "Other."}, {"docid": "new", "text": "New."}]
    job = ended(
        client, client.post("/v1/live/documents?mode=append", json=rows).headers["Location"]
    )
    assert counts(job) == (2, 2, 1, 0, 0, 1)
    assert job["refusals"][0]["reason"] == (
        "docid 'there' already exists with different content; to replace it, use mode=update"
    )
    again = ended(
        client, client.post("/v1/live/documents?mode=append", json=rows).headers["Location"]
    )
    assert counts(again) == (2, 2, 0, 0, 1, 1)


BAD_BULKS = [
    (b"[]", "body", "the bulk contains 0 documents; send 1 to 500"),
    (
        b"[" + b'{"docid": "a"},' * 500 + b'{"docid": "a"}]',
        "body",
        "the bulk contains 501 documents; send 1 to 500 at once",
    ),
    (b'[{"docid": "a"}, 3]', "body", "item 2 is not a JSON object: Expected object, got int"),
    (b'[{"docid": "\xff"}]', "body", "is not UTF-8 (byte 13)"),
]


@pytest.mark.parametrize(("body", "field", "reason"), BAD_BULKS)
def test_a_bulk_that_is_not_whole_is_refused(
    shared: FlaskClient, body: bytes, field: str, reason: str
) -> None:
    answer = shared.post("/v1/live/documents", data=body, content_type="application/json")
    assert problem(answer) == (400, "bad-input", field, f"{field}: {reason}")


def test_what_a_bulk_is_asked_is_checked(shared: FlaskClient) -> None:
    answer = shared.post("/v1/live/documents?mode=replace", json=[{}])
    assert problem(answer)[:3] == (400, "bad-input", "mode")
    assert problem(shared.post("/v1/live/documents", data=b"x", content_type="text/csv"))[0] == 415
    broken = shared.post(
        "/v1/live/documents", data=b'{"docid":"a"}\n{"docid"', content_type="application/x-ndjson"
    )
    assert problem(broken)[3] == "body: item 2 is not a JSON object: Input data was truncated"


@pytest.mark.parametrize("name", ["", "x", "0" * 24, "../manifest", "0" * 23 + "/"])
def test_a_job_that_is_not_known(shared: FlaskClient, name: str) -> None:
    answer = shared.get(f"/v1/jobs/{name}")
    assert answer.status_code == 404
    assert (answer.json or {})["error"] in ("unknown-job", "not-found")


def test_while_another_process_writes_nothing_is_changed_and_said_so(live: Path) -> None:
    with writable(live, write_seconds=0.5) as served:
        client = served.client()
        with locked(live):
            refused = put(client, "a", "The quokka.")
            job = client.post("/v1/live/documents", json=[{"docid": "b", "text": "The wombat."}])
            assert client.get(job.headers["Location"]).json["state"] == "queued"  # type: ignore[index]
            assert found(client, "quokka") == []
            deadline = time.monotonic() + PATIENCE
            while not (reason := client.get(job.headers["Location"]).json["error"]):  # type: ignore[index]
                assert time.monotonic() < deadline
            assert (
                reason
                == "the index cannot be written: another process may be writing it; the server "
                "tries again"
            )
        assert problem(refused) == (
            503,
            "not-written",
            "",
            "the index could not be written within 0.5 seconds: another process may be writing it; "
            "nothing was "
            "changed; try again",
        )
        assert refused.headers["Retry-After"] == "5"
        assert counts(ended(client, job.headers["Location"])) == (1, 1, 1, 0, 0, 0)
        # A busy machine may take longer than it may.
        while put(client, "a", "The quokka.").status_code == 503:
            time.sleep(0.5)
        assert found(client, "quokka") == ["a"]


def test_more_bulks_than_may_wait_are_refused(client: FlaskClient, served: Writable) -> None:
    with locked(served.folder):
        for _ in range(2):
            assert client.post("/v1/live/documents", json=[{}]).status_code == 202
        refused = client.post("/v1/live/documents", json=[{}])
        assert problem(refused)[:2] == (503, "not-written")
        text = client.get("/metrics").text
        assert 'factseek_jobs_waiting{index="live"} 2\n' in text


def test_a_bulk_of_an_index_that_was_divided_is_kept_and_further_ones_are_refused(
    live: Path,
) -> None:
    rows = [{"docid": "b", "text": "The wombat."}]
    with writable(live) as served:
        client = served.client()
        with locked(live):
            job = client.post("/v1/live/documents", json=rows)
            (live / "shards.json").write_text("{}")
            kept = client.get(job.headers["Location"])
            refused = client.post("/v1/live/documents", json=rows)
            (live / "shards.json").unlink()
        assert (kept.status_code, (kept.json or {})["state"], (kept.json or {})["error"]) == (
            200,
            "queued",
            (
                "the index was divided into shards before this bulk was written; factseek "
                "unshard lets the server go on"
            ),
        )
        assert problem(refused)[:2] == (403, "has-shards")
    with writable(live) as served:
        assert ended(served.client(), job.headers["Location"])["added"] == 1


OFF = (
    403,
    "writes-off",
    "",
    "this server is read-only; start it with --allow-writes, or set server.writes: true",
)


@pytest.mark.parametrize("writes", [False, True])
def test_a_server_that_changes_nothing_says_so(live: Path, writes: bool) -> None:
    """It changes nothing without keys either, whatever its settings say."""
    config = Config()
    config = msgspec.structs.replace(
        config, server=msgspec.structs.replace(config.server, writes=writes)
    )
    with Index(live, config) as index:
        client = create_app(config, {"live": index}).test_client()
        assert problem(put(client, "a", "b")) == OFF
        assert problem(client.delete(address(NILE))) == OFF
        assert problem(client.post("/v1/live/documents", json=[{}])) == OFF
        assert problem(client.get("/v1/jobs/1"))[:2] == (404, "unknown-job")
    assert not any(waiting(live))
