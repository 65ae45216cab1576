"""The command line: each mistake one line, exit code 2, before anything is forked."""

import argparse
import socket
from pathlib import Path

import pytest

from factseek.core.terminal import USER_ERROR, run
from factseek.server import cli
from factseek.settings import Config


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.set_defaults(config_type=Config)
    cli.register(made.add_subparsers())
    return made


@pytest.fixture
def empty(tmp_path: Path) -> str:
    path = tmp_path / "config.yaml"
    path.write_text("")
    return str(path)


BAD = [
    ([], "there is no index to serve: add one under server.indexes, or give --index NAME=DIR"),
    (
        ["--index", "indexes/en"],
        "--index 'indexes/en' is not of the form NAME=DIR; write en=indexes/en",
    ),
    (
        ["--ranker", "tweets.model"],
        "--ranker 'tweets.model' is not of the form NAME=FILE; write tweets=tweets.model",
    ),
    (
        ["--adapter", "tei=a", "--adapter", "tei=b"],
        "--adapter 'tei=b': the adapter 'tei' is given twice",
    ),
    (
        ["--index", "../en=a"],
        "server.indexes: '../en' is not a valid name of an index; use up to 64 letters, digits, "
        "'.', '_' and '-', "
        "a letter or digit first",
    ),
    (
        ["--index", "en=/no/such"],
        "/no/such: there is no index; build one with: factseek index KIND SOURCE --index /no/such",
    ),
    (
        ["--index", "en=/no/such", "--allow-writes"],
        "server.writes: changes to an index need a key: create one with factseek key NAME, and add "
        "it under "
        "server.keys",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_mistake_is_one_line(
    parser: argparse.ArgumentParser,
    empty: str,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    assert run(parser, ["serve", "--config", empty, *options]) == USER_ERROR
    assert capsys.readouterr().err == f"factseek: {message}\n"


def test_a_port_in_use_is_one_line(
    parser: argparse.ArgumentParser,
    empty: str,
    folders: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [
            "serve",
            "--config",
            empty,
            "--index",
            f"ar={folders['arabic']}",
            "--port",
            str(port),
        ]
        assert run(parser, command) == USER_ERROR
    assert capsys.readouterr().err == (
        f"factseek: cannot listen on 127.0.0.1 port {port}: address already in use; choose another "
        "--host or --port\n"
    )


def test_options_change_the_configuration(parser: argparse.ArgumentParser, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "server: {host: 0.0.0.0, port: 1, workers: 7, indexes: {old: there}, rankers: {old: model}}"
    )
    old = cli.read_config(parser.parse_args(["serve", "--config", str(path)])).server
    assert (old.indexes, old.rankers) == (
        {"old": str(tmp_path / "there")},
        {"old": str(tmp_path / "model")},
    )
    other = cli.read_config(
        parser.parse_args(["serve", "--config", str(path), "--ranker", "new=there"])
    ).server
    assert (other.indexes, other.rankers) == (old.indexes, {"new": "there"})
    options = ["--index", "new=here", "--host", "::1", "--port", "0", "--workers", "1"]
    settings = cli.read_config(parser.parse_args(["serve", "--config", str(path), *options])).server
    assert (settings.host, settings.port, settings.workers, settings.writes) == ("::1", 0, 1, False)
    assert cli.read_config(
        parser.parse_args(["serve", "--config", str(path), "--allow-writes"])
    ).server.writes
    assert (settings.indexes, settings.rankers, settings.adapters) == ({"new": "here"}, {}, {})
    options = ["--adapter", "pyserini-1=old", "--adapter", "pyserini-2"]
    settings = cli.read_config(parser.parse_args(["serve", "--config", str(path), *options])).server
    assert settings.adapters == {"pyserini-1": "old", "pyserini-2": ""}


def test_a_ranker_that_cannot_be_used_is_one_line(
    parser: argparse.ArgumentParser,
    empty: str,
    folders: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken.model"
    broken.write_text("no model")
    for path, reason in (
        (
            tmp_path / "none",
            "there is no such model file; correct the path, or train a model first",
        ),
        (broken, "is not a complete model of factseek; train it again"),
    ):
        command = [
            "serve",
            "--config",
            empty,
            "--index",
            f"ar={folders['arabic']}",
            "--ranker",
            f"one={path}",
        ]
        assert run(parser, command) == USER_ERROR
        assert capsys.readouterr().err == f"factseek: server.rankers.one: {path}: {reason}\n"
