"""The command tune: what it refuses before any work."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from factseek.eval.learn.cli import register
from factseek.retrieval.terminal import run
from factseek.settings import Config

REFUSED = [
    (["--measure", "AP(rel=0)"], "measure 'AP(rel=0)': rel is not between 1 and 1,000"),
    (["--output", "/dev/null"], "/dev/null: is not a regular file; name one that is, or a new one"),
    (["--output", "{f}/q"], "{f}/q: is read by this command and would be written over; name another file"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refused_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").write_text("q1\tone\n")
    usual = ["--queries", "{f}/q", "--qrels", "{f}/qrels", "--index", "{f}/none", "--output", "{f}/x.yaml"]
    parser = argparse.ArgumentParser(prog="factseek")
    parser.set_defaults(config_type=Config)
    register(parser.add_subparsers(required=True))
    code = run(parser, [part.format(f=tmp_path) for part in ("tune", *usual, *arguments)])
    assert (code, capsys.readouterr().err) == (2, f"factseek: {message.format(f=tmp_path)}\n")
