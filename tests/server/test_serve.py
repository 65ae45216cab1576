"""A real server: started, asked, stopped."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from factseek.claims.checkworthiness import ranking as training
from factseek.core.errors import ConfigError
from factseek.core.progress import silent
from factseek.core.records import model_file
from factseek.server.auth import digest, new_key
from factseek.server.serve import listen
from factseek.settings import Config
from tests.server.ending import AT_ONCE
from tests.server.served import PATIENCE, Served, serve, until


def test_a_name_that_is_no_address_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        listen("no.such.host.invalid", 0)
    assert (
        str(caught.value) == "server.host: 'no.such.host.invalid' is not an address of this machine"
    )


def ask(server: Served, method: str, address: str, body: Any = None) -> tuple[int, Any]:
    return server.ask(method, address, None if body is None else json.dumps(body).encode())


@pytest.mark.real
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_server_starts_answers_and_stops(
    folders: dict[str, Path], ranker_file: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    log = tmp_path / "log"
    indexes = ", ".join(f"{name}: {folder}" for name, folder in folders.items())
    settings = f"workers: 2, indexes: {{{indexes}}}, rankers: {{one: {ranker_file}}}"
    with serve({}, tmp_path, settings) as server:
        assert ask(server, "GET", "/readyz") == (
            200,
            {"status": "ok", "indexes": dict.fromkeys(folders, "ready")},
        )
        for retriever in ("bm25", "dense", "hybrid"):
            body = {"query": "secretword measles vaccine", "retriever": retriever}
            status, answer = ask(server, "POST", "/v1/english/search", body)
            assert status == 200
            assert answer["hits"][0]["docid"].startswith("measles")
        batch = {"queries": [{"qid": str(number), "text": "moon"} for number in range(40)]}
        assert len(ask(server, "POST", "/v1/english/search/batch", batch)[1]["results"]) == 40
        assert (
            ask(server, "GET", "/v1/english/documents/pages/2020//a+b%3Fc%23%D9%86%D8%B5&d%252F")[0]
            == 200
        )
        claims = [
            {"id": "a", "text": "secretword: good morning!"},
            {"id": "b", "text": "97 percent of children."},
        ]
        status, ranking = ask(server, "POST", "/v1/claims/rank", {"claims": claims})
        assert (status, ranking["ranker"], [one["id"] for one in ranking["claims"]]) == (
            200,
            "one",
            ["b", "a"],
        )
        # A terminal sends Ctrl-C to all processes, a supervisor its signal to the first.
        os.killpg(
            server.process.pid, stop
        ) if stop == signal.SIGINT else server.process.send_signal(stop)
        assert server.process.wait(timeout=AT_ONCE) == 0
    said = log.read_text()
    assert said.startswith(f"factseek serves english, arabic on http://127.0.0.1:{server.port}\n")
    assert said.count("factseek serves") == 1
    assert "POST /v1/<name>/search 200" in said
    assert "secretword" not in said
    assert "Traceback" not in said


@pytest.mark.real
def test_a_reload_reads_the_rankers_again(
    folders: dict[str, Path], ranker_file: Path, tmp_path: Path
) -> None:
    model = tmp_path / "one.model"
    shutil.copy(ranker_file, model)
    settings = f"workers: 1, indexes: {{ar: {folders['arabic']}}}, rankers: {{one: {model}}}"
    with serve({}, tmp_path / "serve", settings) as server:
        body = {"claims": [{"id": "a", "text": "Good morning!"}]}
        assert ask(server, "POST", "/v1/claims/rank", body)[1]["model"] == "best"
        learned = training.train("ct2021-1a", "random", [], Config(), silent)
        model_file.save(model, learned.manifest, learned.ranker.state())
        server.process.send_signal(signal.SIGHUP)
        until(lambda: ask(server, "POST", "/v1/claims/rank", body)[1]["model"] == "random")


@pytest.mark.real
@pytest.mark.parametrize("keys", [False, True])
def test_a_file_that_is_too_large_is_refused_on_a_page(
    folders: dict[str, Path], tmp_path: Path, *, keys: bool
) -> None:
    given = f", keys: {{me: {digest(new_key())}}}" if keys else ""
    with serve(
        {}, tmp_path, f"max_body_bytes: 1000, workers: 1{given}", ar=folders["arabic"]
    ) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("POST", "/check", b"a" * 5_000, {"Accept": "text/html,*/*;q=0.8"})
        response = connection.getresponse()
        page = response.read().decode()
        connection.close()
    assert (response.status, response.headers["Content-Type"]) == (413, "text/html; charset=utf-8")
    assert "The body of the request is larger than this server accepts." in page
    assert ('class="ask"' in page) != keys, "who has shown no key is not told what is served"


@pytest.mark.real
def test_serving_needs_neither_torch_nor_pyserinis_searcher(folders: dict[str, Path]) -> None:
    script = f"""
import sys
import factseek.server.serve as serving
from factseek.settings import Config
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
with Index({str(folders["english"])!r}, Config()) as index:
    client = create_app(Config(), {{"english": index}}).test_client()
    assert client.get("/?index=english&query=measles").status_code == 200
    answer = client.post("/v1/english/search", json={{"query": "measles", "retriever": "hybrid"}})
    assert answer.json["hits"]
heavy = "torch transformers sentence_transformers pyserini.search pandas trafilatura".split()
heavy += ["factseek.indexer.build", "factseek.eval"]
print(*(name for name in heavy if name in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("\n", 0), done.stderr
