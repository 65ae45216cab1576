"""A document that holds script in every field, and a search that does: text wherever the page shows
it.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek.claims.verdicts.verdict import TrainedVerdicts
from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.settings import Config
from tests.server.conftest import build_index

SCRIPT = "<script>alert(1)</script>"
BREAKS_OUT = "\"'></a></title></textarea><img src=x onerror=alert(2)><svg/onload=alert(3)>{{'z'*7}}"
EVIL = f"evidence {SCRIPT}{BREAKS_OUT} evidence"
DOCIDS = [
    f"{name}-{SCRIPT}{BREAKS_OUT}".replace(" ", "_") for name in ("plain", "script", "data", "web")
]
URLS = [
    "javascript:alert(4)",
    " javascript:alert(4)",
    "data:text/html," + SCRIPT,
    f"https://x.example/{BREAKS_OUT}",
]


def document(docid: str, url: str) -> dict[str, object]:
    fields = ("title", "text", "source", "topic", "language")
    return {"docid": docid, "url": url, "date": "2020", EVIL: EVIL, **dict.fromkeys(fields, EVIL)}


class Dangers(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.dangers: list[str] = []
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if (
            tag in ("script", "iframe", "object", "embed", "base")
            and dict(attrs).get("src") != "/static/desk.js"
        ):
            self.dangers.append(tag)
        for name, value in attrs:
            link = (value or "").strip().lower()
            if name.startswith("on") or name == "srcdoc":
                self.dangers.append(name)
            if name in ("href", "src", "action", "formaction") and link.startswith(
                ("javascript:", "data:", "x")
            ):
                self.dangers.append(link)

    def handle_data(self, data: str) -> None:
        self.shown += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder: Path = tmp_path_factory.mktemp("hostile") / "hostile"
    build_index(
        folder,
        [document(*pair) for pair in zip(DOCIDS, URLS, strict=True)],
        language="en",
        dense=False,
    )
    with Index(folder, Config()) as index:
        yield create_app(Config(), {"hostile": index}).test_client()


ADDRESSES = [
    "/?index=hostile&query=evidence",
    f"/?index=hostile&query={quote(EVIL)}",
    f"/?index={quote(EVIL)}&query={quote(EVIL)}",
    f"/?index=hostile&query=evidence&as_of={quote(EVIL)}&profile={quote(EVIL)}",
    f"/no/such/{quote(EVIL)}",
    *(f"/documents/hostile/{quote(docid, safe='')}?query={quote(EVIL)}" for docid in DOCIDS),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_script_in_any_field_is_text(hostile: FlaskClient, address: str) -> None:
    response = hostile.get(address, headers={"Accept": "text/html"})
    assert response.mimetype == "text/html"
    assert response.status_code in (200, 400, 404)
    page = Dangers(response.text)
    assert page.dangers == []
    assert "zzzzzzz" not in page.shown.replace("DOCTYPE", "")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'; " in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("docid", DOCIDS)
def test_every_hostile_document_is_shown_whole(hostile: FlaskClient, docid: str) -> None:
    response = hostile.get(f"/documents/hostile/{quote(docid, safe='')}")
    assert response.status_code == 200
    assert Dangers(response.text).shown.count(SCRIPT) >= 4


@pytest.mark.parametrize(
    "address", ["/v1/hostile/search?query=evidence", f"/v1/{quote(EVIL)}/search?query=a"]
)
def test_answers_of_the_api_are_no_pages(hostile: FlaskClient, address: str) -> None:
    response = hostile.get(address, headers={"Accept": "text/html"})
    assert response.mimetype in ("application/json", "application/problem+json")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


LENGTH = 200_000


def long(mark: str, end: str = "") -> str:
    return mark * (LENGTH // len(mark)) + end


@pytest.fixture(scope="module")
def wide(
    config: Config,
    indexes: dict[str, Index],
    rankers: dict[str, ServedRanker],
    models: dict[str, TrainedVerdicts],
) -> FlaskClient:
    server = msgspec.structs.replace(config.server, max_body_bytes=2_000_000)
    app = create_app(
        msgspec.structs.replace(config, server=server), indexes, ranked_by=rankers, judged_by=models
    )
    return app.test_client()


RUNS = {
    "blanks": "a\n" + long(" ", "a"),
    "ellipses": long("…", "a"),
    "digits": long("7", "a"),
    "brackets": long("[", "a"),
    "mentions": long("@", "a"),
    "lines of blanks": "a" + long(" \n", "a"),
    "quotes": 'tweet_text,b\n"' + long('"', "a"),
}


@pytest.mark.parametrize("kind", ["", "tweets", "transcript"])
@pytest.mark.parametrize("run", RUNS)
def test_a_long_run_is_checked_or_refused(wide: FlaskClient, run: str, kind: str) -> None:
    response = wide.post("/check", data={"text": RUNS[run], "kind": kind}, follow_redirects=True)
    assert response.status_code in (200, 400)
    assert "</html>" in response.text


@pytest.mark.parametrize("run", RUNS)
def test_a_long_claim_is_answered(wide: FlaskClient, run: str) -> None:
    response = wide.post("/verify", data={"index": "english", "claim": f"vaccine {RUNS[run]}"})
    assert response.status_code in (200, 400)
    assert "</html>" in response.text


CONDITIONS = {"conditions": long("title:a "), "quoted": long('"a" '), "unclosed": long('-"a')}
QUERIES = {**RUNS, **CONDITIONS}


@pytest.mark.parametrize("profile", ["plain", "tweet"])
@pytest.mark.parametrize("query", QUERIES)
def test_a_long_query_is_answered(wide: FlaskClient, query: str, profile: str) -> None:
    response = wide.post(
        "/", data={"index": "english", "query": QUERIES[query], "profile": profile}
    )
    assert response.status_code in (200, 400)
    assert "</html>" in response.text
