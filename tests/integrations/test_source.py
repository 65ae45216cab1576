"""An index asked by its folder and by its address: the same hits, and errors of the same kind."""

import copy
import pickle
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from factseek import Filter, Search, Searcher
from factseek.core.errors import (
    FactseekError,
    IndexStateError,
    MachineError,
    NotFoundError,
    QueryError,
)
from factseek.integrations._choices import parse_choices
from factseek.integrations._source import open_source
from factseek.retrieval.search.options import WrittenOptions
from tests.integrations.conftest import QUERY

QUERIES = [QUERY, "?!", "Pluto is a planet", QUERY, "half of \ud83d a planet"]


def choices_of(k: int | None = None, **named: Any) -> WrittenOptions:
    return parse_choices(k, named)


@pytest.fixture
def source(index: str) -> Iterator[Any]:
    opened = open_source(index)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("choices", "asked"),
    [
        (choices_of(k=3, retriever="bm25"), Search(k=3, retriever="bm25")),
        (
            choices_of(k=5, filter={"kind": "cord19"}),
            Search(k=5, where=Filter(kind=("cord19",))),
        ),
        (
            choices_of(since="2019", as_of="2020-12", undated=True),
            Search(where=Filter(since="2019-01-01", as_of="2020-12-31", undated=True)),
        ),
        (
            choices_of(profile="tweet", stages=["per_source=1"]),
            Search(profile="tweet", stages=("per_source=1",)),
        ),
    ],
)
def test_it_answers_the_same(
    source: Any, searcher: Searcher, choices: WrittenOptions, asked: Search
) -> None:
    expected = [searcher.search([query], asked)[0] if query != "?!" else [] for query in QUERIES]
    rankings = source.columns(QUERIES, choices)
    assert [ranking.docids for ranking in rankings] == [
        [hit.docid for hit in hits] for hits in expected
    ]
    assert [np.float32(ranking.scores).tolist() for ranking in rankings] == [
        np.float32([hit.score for hit in hits]).tolist() for hits in expected
    ]
    passages = source.passages(QUERIES, choices)
    assert [
        [(hit.docid, hit.score, hit.passage.number) for hit in ranking] for ranking in passages
    ] == [[(hit.docid, hit.score, hit.passage) for hit in hits] for hits in expected]
    texts = [hit.passage.text for hit in searcher.evidence(QUERIES[2], expected[2])]
    assert [hit.passage.text for hit in passages[2]] == texts


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (choices_of(retriever="dense"), "dense"),
        (choices_of(filter={"colour": "red"}), "there is no field 'colour'"),
        (
            choices_of(as_of="yesterday"),
            "'yesterday' is not a date of the form 2020-03-01, 2020-03 or 2020",
        ),
        (choices_of(k=20_000), "20000"),
    ],
)
def test_what_makes_no_sense_is_a_query_error(
    source: Any, choices: WrittenOptions, message: str
) -> None:
    for ask in (source.passages, source.columns):
        with pytest.raises(QueryError, match=message):
            ask([QUERY], choices)


def test_an_index_that_is_not_there(address: str, tmp_path: Path) -> None:
    cases: list[tuple[str, type[FactseekError], str]] = [
        (str(tmp_path), IndexStateError, "there is no index"),
        (
            address.replace("mine", "yours"),
            NotFoundError,
            "there is no index 'yours'; the indexes are mine",
        ),
        (f"http://127.0.0.1:{_free_port()}/v1/mine", MachineError, "cannot be reached: .*refused"),
    ]
    for place, kind, message in cases:
        with pytest.raises(kind, match=message) as caught:
            open_source(place).passages([QUERY], choices_of())
        assert caught.value.place == place


class _Answering(BaseHTTPRequestHandler):
    answer: tuple[int, dict[str, str], bytes]
    requests: list[tuple[str, str | None]]

    def do_POST(self) -> None:
        self.requests.append((self.path, self.headers["Authorization"]))
        self.rfile.read(int(self.headers["Content-Length"]))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be silent."""


@contextmanager
def answering(
    status: int, headers: dict[str, str], body: bytes
) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    requests: list[tuple[str, str | None]] = []
    handler = type(
        "Handler", (_Answering,), {"answer": (status, headers, body), "requests": requests}
    )
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/mine", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_key_goes_along(address: str) -> None:
    with answering(200, {}, b'{"results": [{"qid": "0", "hits": []}]}') as (other, requests):
        assert open_source(other, api_key="fs_k").passages([QUERY], choices_of()) == [[]]
    assert requests == [("/v1/mine/search/batch", "Bearer fs_k")]


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind", "message"),
    [
        (302, {"Location": "http://127.0.0.1:9/"}, b"", MachineError, "answers 302 Found"),
        (401, {}, b'{"detail": "give a key"}', MachineError, "give a key"),
        (
            429,
            {"Retry-After": "7"},
            b'{"detail": "too many"}',
            MachineError,
            "too many; try again after 7 s",
        ),
        (500, {}, b"<html>", MachineError, "answers 500 Internal Server Error"),
        (
            200,
            {"X-Failed-Queries": "1"},
            b'{"results": []}',
            QueryError,
            "1 of 1 queries could not be answered",
        ),
        (200, {}, b'{"results": []}', MachineError, "does not answer as factseek does"),
        (
            200,
            {},
            (
                b'{"results": [{"qid": "0", "hits": [], "coverage": {"bm25": "complete", '
                b'"dense": "cut off"}}]}'
            ),
            MachineError,
            "dense took too long, so the hits would be incomplete; try again",
        ),
    ],
)
def test_what_a_server_answers_instead(
    status: int, headers: dict[str, str], body: bytes, kind: type[FactseekError], message: str
) -> None:
    with (
        answering(status, headers, body) as (other, requests),
        pytest.raises(kind, match=message) as caught,
    ):
        open_source(other).passages([QUERY], choices_of())
    assert caught.value.place == other
    assert len(requests) == 1  # a redirection is not followed


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def test_a_pickled_folder_is_opened_again_from_another_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder.parent)
    source = open_source(folder.name)
    expected = source.columns([QUERY], choices_of(k=3))
    pickled = pickle.dumps(source)
    source.close()
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(pickled)
    assert again.columns([QUERY], choices_of(k=3)) == expected
    again.close()


def test_an_open_index_says_that_it_is_not_copied(searcher: Searcher) -> None:
    for how in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError) as refused:
            how(searcher)
        what = "an open index cannot be copied or pickled; open it again"
        assert str(refused.value) == f"{what}: open_index({str(searcher.info.place)!r})"
