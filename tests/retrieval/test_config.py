"""The configuration: every setting documented, every mistake named by its dotted key."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from factseek.claims.checkworthiness import members, rankers
from factseek.retrieval import retrievers, stages
from factseek.retrieval.errors import ConfigError
from factseek.settings import Config, load, read


def test_the_documented_defaults_are_the_defaults(root: Path) -> None:
    documented = read(root / "config.yaml")
    served = msgspec.structs.replace(documented.server, indexes={}, rankers={}, verdicts={})
    assert msgspec.structs.replace(documented, server=served) == Config()


def test_every_setting_is_documented(root: Path) -> None:
    import yaml

    def keys(value: object, prefix: str = "") -> set[str]:
        if not isinstance(value, dict) or not value:
            return {prefix}
        return {key for name, inner in value.items() for key in keys(inner, f"{prefix}.{name}")}

    named = {f".server.{group}" for group in ("indexes", "rankers", "verdicts", "adapters")}
    free = {".passages.split", *named}
    documented = keys(yaml.safe_load((root / "config.yaml").read_text("utf-8")))
    documented = {key for key in documented if not any(key.startswith(f"{name}.") for name in free)} | free
    assert documented == keys(msgspec.to_builtins(Config()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bm25: {k1: high}", "bm25.k1: expected float, got str"),
        (
            "search: {fusion: {weights: {dense: 2, bm25: x}}}",
            "search.fusion.weights.bm25: expected float, got str",
        ),
        ("search: {fusion: {weights: {dense: -1}}}", "search.fusion.weights.dense: expected float >= 0.0"),
        ("bm25: {k1: -1}", "bm25.k1: expected float >= 0.0"),
        ("bm25: {k2: 1}", "bm25.k2: there is no such setting; did you mean bm25.k1?"),
        ("bm52: {k1: 1}", "bm52: there is no such setting; did you mean bm25?"),
        (
            "search: {fusion: {kind: best}}",
            "search.fusion.kind: invalid enum value 'best'; there are auto, rrf, minmax, zscore",
        ),
        ("search: {k: 0}", "search.k: expected int >= 1"),
        ("search: {k: 2.5}", "search.k: expected int, got float"),
        ("server: {port: 70000}", "server.port: expected int <= 65535"),
        ("encoder: {languages: en}", "encoder.languages: expected array, got str"),
        ("java: {heap: lots}", "java.heap: expected str matching regex '^[1-9]\\\\d*[mgMG]$'"),
        ("- a list", "expected object, got array"),
        ("just words", "expected object, got str"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as error:
        read(path)
    assert str(error.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("text", "fault", "there"),
    [
        ("search: {retriever: bm52}", "search.retriever: unknown retriever 'bm52'", ["auto", *retrievers.names()]),
        ("search: {stages: [per_source=2, poem=3]}", "search.stages: unknown stage 'poem=3'", stages.names()),
        (
            "search: {fusion: {weights: {bm25: 1, auto: 1}}}",
            "search.fusion.weights: unknown retriever 'auto'",
            retrievers.names(),
        ),
        ("claims: {model: poem}", "claims.model: unknown model 'poem'", rankers.names()),
        (
            "claims: {best: {members: [joint_signs, joint_poem]}}",
            "claims.best.members: unknown member 'joint_poem'",
            list(members.KINDS),
        ),
    ],
)
def test_a_name_that_there_is_not_is_said_when_the_file_is_read(
    tmp_path: Path, text: str, fault: str, there: list[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as error:
        read(path)
    assert str(error.value) == f"{path}: {fault}; there are {', '.join(there)}"


def test_a_variant_and_a_value_are_the_plug_ins_to_understand(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("search: {retriever: 'dense:other', stages: [per_source=2]}", "utf-8")
    assert read(path).search.retriever == "dense:other"


def test_what_is_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("bm25:\n  k1: [1\n", "utf-8")
    with pytest.raises(ConfigError, match=r"c\.yaml:3: is not YAML: "):
        read(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bm25: " + "[" * 100_000, "{}: is nested too deeply"),
        ("bm25: " + "{a: " * 100_000, "{}: is nested too deeply"),
        ("bm25: &a [*a]", "{}: bm25: expected object, got array"),
        ("bm25: {k1: 1}\nsearch: {k: 3}\nbm25: {k1: 2}", "{}:3: the key 'bm25' stands on line 1 already; keep one"),
        ("search:\n  k: 3\n  k: 3\n", "{}:3: the key 'k' stands on line 2 already; keep one"),
        ("search: {k: 2020-13-45}", "{}: holds a value that is none: month must be in 1..12"),
        ("{[1]: 2}", "{}:1: is not YAML: found unhashable key"),
    ],
)
def test_what_is_no_configuration_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as error:
        read(path)
    assert error.value.line == message.format(path)


def test_yaml_cannot_make_objects(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("bm25: !!python/object/apply:os.system ['true']\n", "utf-8")
    with pytest.raises(ConfigError, match="could not determine a constructor"):
        read(path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, without a configuration in the environment; its ``config.yaml``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTSEEK_CONFIG", raising=False)
    return Path("config.yaml")


@pytest.mark.usefixtures("here")
def test_where_the_configuration_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load() == Config()
    Path("config.yaml").write_text("search: {k: 3}", "utf-8")
    assert load().search.k == 3
    Path("other.yaml").write_text("search: {k: 4}", "utf-8")
    monkeypatch.setenv("FACTSEEK_CONFIG", "other.yaml")
    assert load().search.k == 4
    Path("third.yaml").write_text("bm25:\nsearch: {k: 5}", "utf-8")
    assert load("third.yaml").search.k == 5
    with pytest.raises(ConfigError, match=r"^no\.yaml: there is no such configuration file$"):
        load("no.yaml")
    monkeypatch.delenv("FACTSEEK_CONFIG")
    Path("factseek.yaml").write_text("search: {k: 6}", "utf-8")
    assert load().search.k == 6


@pytest.mark.parametrize(
    "text",
    [
        "site_name: Recipes\ntheme: {name: material}\n",  # mkdocs
        "services:\n  web: {image: nginx}\n",
        "- hosts: all\n",
        "---\na: 1\n---\nb: 2\n",
        "Bucket: !Ref Name\n",
        "title: {{ site.title }}: x\nbase: @b\n",
        "a: 1\na: 2\n",
        "just words",
        "0",
    ],
)
def test_the_config_yaml_of_another_program_is_passed_over(
    here: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    here.write_text(text, "utf-8")
    assert load() == Config()
    note = "config.yaml is passed over: it has no settings of factseek; put yours into factseek.yaml\n"
    assert capsys.readouterr() == ("", note)
    with pytest.raises(ConfigError, match=r"^config\.yaml"):
        load("config.yaml")  # named, it is meant


@pytest.mark.parametrize(
    ("text", "k"), [("", 10), ("# nothing yet\n", 10), ("search: {k: 12}\n", 12), ('{"search": {"k": 13}}', 13)]
)
def test_a_config_yaml_of_ours_is_read_without_a_word(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, k: int
) -> None:
    here.write_text(text, "utf-8")
    assert load().search.k == k
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["search: {kk: 3}", "title: x\nsearch: {k: 3}", "search: {k: [\n", "'search': {{k}\n"])
def test_what_is_wrong_with_a_config_yaml_of_ours_is_said(here: Path, text: str) -> None:
    here.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=r"^config\.yaml"):
        load()


def test_index_folders_are_taken_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("server: {indexes: {one: data/one, two: /two}, rankers: {one: a.model, two: /b.model}}", "utf-8")
    assert read(path).server.indexes == {"one": str(tmp_path / "data/one"), "two": "/two"}
    assert read(path).server.rankers == {"one": str(tmp_path / "a.model"), "two": "/b.model"}
