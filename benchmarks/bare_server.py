"""A bare WSGI route over the same search, in the same engine: what the framework, the checks and the logs may cost.

``python -m benchmarks.bare_server DIR PORT`` answers any body that has a ``query`` and a ``k`` by the hits of BM25 with
their texts, and a request without a body by no hits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from factseek.retrieval.searcher import Search, Searcher
from factseek.server.serve import FactseekServer, check, listen
from factseek.server.settings import Config, ServerSettings

NAME = "bench"
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class BareQuestion(msgspec.Struct):
    """A request."""

    query: str
    k: int


class BareServer(FactseekServer):
    """The server with its engine, its workers and its open index, and none of its routes."""

    def load(self) -> Application:
        """Open the index as the server does, and return the one route."""
        return route(super().load().extensions["factseek"].indexes[NAME].index)


def route(index: Searcher) -> Application:
    """Return the application that answers from an index."""
    decoder, encoder = msgspec.json.Decoder(BareQuestion), msgspec.json.Encoder()

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        hits = searched(decoder.decode(body)) if body else []
        payload = encoder.encode({"hits": hits})
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(payload)))]
        start_response("200 OK", headers)
        return [payload]

    def searched(asked: BareQuestion) -> list[dict[str, Any]]:
        search = Search(k=asked.k, retriever="bm25")
        hits = index.search([asked.query], search)[0]
        evidence = index.evidence(asked.query, hits, search, highlight=False)
        return [
            {"rank": hit.rank, "docid": hit.docid, "score": hit.score, "title": hit.title, "text": hit.passage.text}
            for hit in evidence
        ]

    return answer


def main() -> None:
    """Serve until a signal stops it."""
    folder, port = sys.argv[1:]
    config = Config(server=ServerSettings(indexes={NAME: folder}, port=int(port), workers=2))
    check(config)
    BareServer(config, listen(config.server.host, config.server.port)).run()


if __name__ == "__main__":
    main()
