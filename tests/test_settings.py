"""The composed settings: one file for every command, and for each command what its package owns."""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from factseek import settings
from factseek.claims import settings as claims
from factseek.core.errors import ConfigError
from factseek.indexer import settings as indexer
from factseek.retrieval import config as retrieval
from factseek.retrieval.arguments import config_of, full_config_of
from factseek.server import settings as server

KINDS: list[type[retrieval.Config]] = [
    retrieval.Config,
    indexer.Config,
    claims.Config,
    server.Config,
]
EVERYTHING = """
bm25: {k1: 1.2}
build: {lucene_buffer_mb: 7, skip_bad_lines: 3}
passages: {words: 50}
claims: {seed: 4}
verdict: {sentences: 2}
server: {port: 8001, indexes: {one: data/one}}
"""


def arguments(folder: Path, text: str) -> argparse.Namespace:
    path = folder / "c.yaml"
    path.write_text(text, "utf-8")
    return argparse.Namespace(config=path, config_type=settings.Config)


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_gets_what_its_package_owns(tmp_path: Path, kind: type[retrieval.Config]) -> None:
    args = arguments(tmp_path, EVERYTHING)
    config, full = config_of(args, kind), full_config_of(args)
    assert type(config) is kind
    assert type(full) is settings.Config
    assert full != settings.Config()
    assert (config.bm25.k1, config.build.lucene_buffer_mb) == (1.2, 7)
    for name in set(kind.__struct_fields__) - {"plugins"}:
        group, whole = getattr(config, name), getattr(full, name)
        assert {
            field: getattr(whole, field) for field in group.__struct_fields__
        } == msgspec.structs.asdict(group)


@pytest.mark.parametrize(
    ("module", "command"),
    [("indexer", ["compact"]), ("eval", ["run", "trec", "--queries", "q", "--output", "o"])],
)
def test_one_file_does_for_every_front_door(
    tmp_path: Path, module: str, command: list[str]
) -> None:
    config = arguments(tmp_path, EVERYTHING).config
    (tmp_path / "q").write_text("q1\tone\n", "utf-8")
    call = [
        sys.executable,
        "-m",
        f"factseek.{module}",
        *command,
        "--index",
        "none",
        "--config",
        str(config),
    ]
    ran = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("factseek: none: "), ran.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "server: {callbacks: {}}",
            "server.callbacks: is no longer a setting; use /similarity/sync/text of the "
            "adapter alegre, which answers at once",
        ),
        (
            "server: {comparisons: {a: a.json}}",
            "server.comparisons: is no longer a setting; factseek compare --html "
            "FILE writes the comparison as a page",
        ),
        (
            "server: {cursor_seconds: 5}",
            "server.cursor_seconds: is no longer a setting; leave it out: a cursor "
            "continues in the current index",
        ),
    ],
)
def test_a_setting_that_was_removed_names_what_to_use(tmp_path: Path, text: str, said: str) -> None:
    args = arguments(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        config_of(args, settings.Config)
    assert str(error.value) == f"{args.config}: {said}"
