"""Write down what commands, searches and requests over the bundled example answer: ``python -m
tests.frozen.freeze``.

``help.json`` has the help of every command, ``runs.json`` runs of BM25 by their bytes and others by
their scores, and ``answers.json`` 200 answers over HTTP. Scores of vectors differ in their last
digits between processors.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from factseek import commands, open_index, read_config
from factseek.server.api import rankers
from factseek.server.app import create_app

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LANGUAGES = ("en", "ar")
LONG = 60
"""A text of more characters stands as its digest."""
VARIES = frozenset(
    "request_id manifest_id took_ms cursor created added bytes id version python manifest".split()
)

Request = dict[str, Any]


def helps() -> dict[str, str]:
    """Return the help of every command."""
    os.environ["COLUMNS"] = "100"
    top = commands.parser()
    return {name: parser.format_help() for name, parser in commands.commands_of(top).items()}


def runs(indexes: Path, work: Path) -> dict[str, Any]:
    """Return the runs of the example's queries: of BM25 the digest of the file, of others docids
    and scores.
    """
    made: dict[str, Any] = {}
    for language in LANGUAGES:
        for retriever in ("bm25", "dense", "hybrid"):
            path = work / f"{language}-{retriever}.txt"
            words = [
                "run",
                "trec",
                "--index",
                str(indexes / f"example-{language}"),
                "--retriever",
                retriever,
                "-k",
                "20",
            ]
            words += [
                "--queries",
                str(ROOT / f"examples/queries-{language}.tsv"),
                "--output",
                str(path),
            ]
            with contextlib.redirect_stderr(io.StringIO()):
                assert commands.main(words) == 0, words
            if retriever == "bm25":
                made[path.stem] = hashlib.sha256(path.read_bytes()).hexdigest()
                continue
            lines = [line.split() for line in path.read_text("utf-8").splitlines()]
            made[path.stem] = [[qid, docid, float(score)] for qid, _, docid, _, score, _ in lines]
    return made


def requests() -> list[Request]:
    """Return the requests, in order: each a method, an address and perhaps a body."""
    return [*_searches(), *_variations(), *_documents(), *_pages(), *_mistakes()]


def _queries(language: str) -> list[str]:
    lines = (ROOT / f"examples/queries-{language}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[1] for line in lines]


def _search(index: str, query: str, **options: Any) -> Request:
    return {
        "method": "POST",
        "address": f"/v1/example-{index}/search",
        "body": {"query": query, **options},
    }


def _searches() -> Iterator[Request]:
    for language in LANGUAGES:
        for query in _queries(language):
            for retriever in ("bm25", "dense", "hybrid"):
                yield _search(
                    language, query, k=5, retriever=retriever, highlight=retriever == "bm25"
                )


def _variations() -> Iterator[Request]:
    query = "measles vaccine"
    options: list[dict[str, Any]] = [
        {"filter": {"topic": "EX-EN-01"}},
        {"filter": {"kind": ["snippets", "cord19"]}},
        {"filter": {"source": "www.who.int"}},
        {"as_of": "2021"},
        {"as_of": "2021", "undated": "keep"},
        {"group": False},
        {"profile": "tweet"},
        {"facets": {"kind": 3, "year": 2}},
        {"stages": ["per_source=1"]},
        {"sort": "date"},
        {"k": 1},
        {"k": 30},
        {"explain": True},
        {"filter": {"topic": "EX-EN-01"}, "group": False, "k": 3},
    ]
    for chosen in options:
        for retriever in ("bm25", "hybrid"):
            yield _search("en", query, **({"k": 5, "retriever": retriever} | chosen))
    for written in (
        '"measles vaccine"',
        "measles -vaccine",
        "kind:cord19 virus",
        "+smallpox who",
        "year:2020 virus",
    ):
        for retriever in ("bm25", "hybrid"):
            yield _search("en", written, k=5, retriever=retriever, syntax="query")
            yield _search("ar", "لقاح الحصبة", k=len(written), retriever=retriever)
    for written in ("measels vacination", "qwertyuiop", "الحصبة", "a", "the of and"):
        yield _search("en", written, k=3, retriever="bm25")
    for form in ("csv", "tsv", "ndjson", "ris", "bibtex", "jsonld", "trec"):
        for language, text in (("en", query), ("ar", "لقاح الحصبة")):
            yield _search(language, text, k=3, retriever="bm25", format=form)
    yield {
        "method": "POST",
        "address": "/v1/search",
        "body": {"query": query, "k": 4, "retriever": "bm25"},
    }
    batch = {
        "queries": [{"qid": "1", "text": query}, {"qid": "2", "text": "smallpox"}],
        "k": 2,
        "retriever": "bm25",
    }
    yield {"method": "POST", "address": "/v1/example-en/search/batch", "body": batch}
    yield {
        "method": "GET",
        "address": "/v1/example-en/search?query=measles+vaccine&hits=2&retriever=bm25",
    }
    yield _search("en", "", like="EX-EN-01-0007-001", k=3, retriever="bm25")


def _documents() -> Iterator[Request]:
    for address in (
        "/v1/indexes",
        "/v1/indexes/example-en",
        "/v1/example-en/documents/EX-EN-01-0007-001",
        "/v1/example-en/documents/en-vaccines-measles",
        "/v1/example-en/doc/ex000a01",
        "/livez",
        "/readyz",
    ):
        yield {"method": "GET", "address": address}
    claims = [{"id": str(number), "text": text} for number, text in enumerate(_queries("en")[:4])]
    yield {"method": "POST", "address": "/v1/claims/rank", "body": {"claims": claims}}


def _pages() -> Iterator[Request]:
    for address in (
        "/",
        "/?query=measles+vaccine&index=example-en",
        "/check",
        "/verify",
        "/docs",
        "/openapi.json",
    ):
        yield {"method": "GET", "address": address, "page": True}
    yield {"method": "GET", "address": "/documents/example-en/EX-EN-01-0007-001", "page": True}


def _mistakes() -> Iterator[Request]:
    for body in (
        {},
        {"query": 1},
        {"query": "a", "k": 0},
        {"query": "a", "k": 10**9},
        {"query": "a", "k": "two"},
        {"query": "a", "retriever": "bm26"},
        {"query": "a", "filter": {"colour": "red"}},
        {"query": "a", "filter": 3},
        {"query": "a", "as_of": "yesterday"},
        {"query": "a", "stages": ["nothing"]},
        {"query": "a", "unknown": 1},
        {"query": "a", "profile": "letter"},
        {"query": "a", "sort": "size"},
        {"query": "a", "format": "pdf"},
        {"query": "a", "cursor": "nothing"},
        {"query": "a", "facets": {"colour": 1}},
        {"query": "a" * 100_000},
    ):
        yield {"method": "POST", "address": "/v1/example-en/search", "body": body}
    for method, address in (
        ("GET", "/v1/nothing/search?query=a"),
        ("GET", "/v1/example-en/search"),
        ("GET", "/v1/example-en/search?query=a&facet=kind"),
        ("GET", "/v1/example-en/documents/nothing"),
        ("GET", "/v1/nothing"),
        ("GET", "/nothing"),
        ("DELETE", "/v1/example-en/search"),
        ("PUT", "/v1/example-en/documents/new"),
        ("DELETE", "/v1/example-en/documents/ex000a01"),
        ("GET", "/v1/jobs/0"),
        ("POST", "/v1/example-en/search/batch"),
        ("POST", "/v1/claims/rank"),
    ):
        yield {"method": method, "address": address}


def answers(indexes: Path) -> list[dict[str, Any]]:
    """Return each request with what is answered: the status, the kind, and what the body says.

    Of a page that is its status, of a refusal its code.
    """
    config = read_config(ROOT / "config.yaml")
    opened = {
        f"example-{language}": open_index(indexes / f"example-{language}", config)
        for language in LANGUAGES
    }
    ranked_by = {"tweets": rankers.open_rankers(read_config(_rankers(indexes)))["tweets"]}
    client = create_app(config, opened, ranked_by=ranked_by).test_client()
    made = []
    for request in requests():
        answer = client.open(request["address"], method=request["method"], json=request.get("body"))
        kind = answer.mimetype
        text = answer.get_data(as_text=True)
        if request.get("page"):
            body: Any = None
        elif answer.status_code >= 400:
            body = json.loads(text)["error"]
        elif kind == "application/json":
            body = _shortened(json.loads(text))
        else:
            body = [_digest(line) for line in text.splitlines()]
        made.append({**request, "status": answer.status_code, "type": kind, "answer": body})
    for index in opened.values():
        index.close()
    return made


def _rankers(indexes: Path) -> Path:
    path = indexes / "rankers.yaml"
    path.write_text(f"server: {{rankers: {{tweets: {indexes / 'tweets.model'}}}}}\n", "utf-8")
    return path


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(part) for key, part in value.items() if key not in VARIES}
    if isinstance(value, list):
        return [_shortened(part) for part in value]
    return _digest(value) if isinstance(value, str) and len(value) > LONG else value


def _digest(text: str) -> str:
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}" if len(text) > LONG else text


def near(now: Any, then: Any, tolerance: float) -> bool:
    """Return whether two answers are the same but for numbers that differ by at most
    ``tolerance``.
    """
    if isinstance(then, float) and isinstance(now, int | float):
        return math.isclose(now, then, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(then, dict) and isinstance(now, dict):
        return now.keys() == then.keys() and all(
            near(now[key], then[key], tolerance) for key in then
        )
    if isinstance(then, list) and isinstance(now, list):
        return len(now) == len(then) and all(map(near, now, then, [tolerance] * len(then)))
    return bool(now == then)


def write(name: str, value: Any) -> None:
    """Write a golden file."""
    lines = json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict) else None)
    if isinstance(value, list):
        lines = "[\n" + ",\n".join(json.dumps(part, ensure_ascii=False) for part in value) + "\n]"
    (HERE / name).write_text(lines + "\n", "utf-8")


if __name__ == "__main__":
    import tempfile

    built = ROOT / "indexes"
    if not all((built / f"example-{language}").is_dir() for language in LANGUAGES):
        sys.exit("the example indexes are missing; run: make example")
    with tempfile.TemporaryDirectory() as folder:
        frozen_runs = runs(built, Path(folder))
    frozen_answers = answers(built)
    write("help.json", helps())
    write("runs.json", frozen_runs)
    write("answers.json", frozen_answers)
