"""The configuration: every setting documented, every mistake named by its dotted key."""

from pathlib import Path

import msgspec
import pytest

from factseek.claims.checkworthiness import rankers
from factseek.core.errors import ConfigError
from factseek.retrieval import retrievers, stages
from factseek.retrieval.config import plugin_settings
from factseek.settings import Config, read, read_config


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
    documented = {
        key for key in documented if not any(key.startswith(f"{name}.") for name in free)
    } | free
    groups = {name: group() for name, group in plugin_settings().items()}
    settings = msgspec.to_builtins(Config()) | msgspec.to_builtins(groups)
    settings.pop("plugins")
    assert documented == keys(settings)


@pytest.mark.parametrize(
    ("text", "fault", "there"),
    [
        (
            "search: {retriever: bm52}",
            "search.retriever: unknown retriever 'bm52'",
            ["auto", *retrievers.names()],
        ),
        (
            "search: {stages: [per_source=2, poem=3]}",
            "search.stages: unknown stage 'poem=3'",
            stages.names(),
        ),
        (
            "search: {fusion: {weights: {bm25: 1, auto: 1}}}",
            "search.fusion.weights: unknown retriever 'auto'",
            retrievers.names(),
        ),
        ("claims: {model: poem}", "claims.model: unknown model 'poem'", rankers.names()),
    ],
)
def test_an_unknown_name_is_said_when_the_file_is_read(
    tmp_path: Path, text: str, fault: str, there: list[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as error:
        read(path)
    noun = fault.partition("unknown ")[2].partition(" ")[0]
    assert str(error.value) == f"{path}: {fault}; the {noun}s are {', '.join(there)}"


def test_yaml_cannot_make_objects(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("bm25: !!python/object/apply:os.system ['true']\n", "utf-8")
    with pytest.raises(ConfigError, match="could not determine a constructor"):
        read(path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTSEEK_CONFIG", raising=False)
    return Path("config.yaml")


@pytest.mark.usefixtures("here")
def test_where_the_configuration_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config() == Config()
    Path("config.yaml").write_text("search: {k: 3}", "utf-8")
    assert read_config().search.k == 3
    Path("other.yaml").write_text("search: {k: 4}", "utf-8")
    monkeypatch.setenv("FACTSEEK_CONFIG", "other.yaml")
    assert read_config().search.k == 4
    Path("third.yaml").write_text("bm25:\nsearch: {k: 5}", "utf-8")
    assert read_config("third.yaml").search.k == 5
    with pytest.raises(ConfigError, match=r"^no\.yaml: there is no such configuration file$"):
        read_config("no.yaml")
    monkeypatch.setenv("FACTSEEK_CONFIG", "no.yaml")
    with pytest.raises(
        ConfigError,
        match=r"^no\.yaml: there is no such configuration file \(from FACTSEEK_CONFIG\)$",
    ):
        read_config()
    monkeypatch.setenv("FACTSEEK_CONFIG", "")
    Path("factseek.yaml").write_text("search: {k: 6}", "utf-8")
    assert read_config().search.k == 6


@pytest.mark.parametrize(
    "text",
    [
        "site_name: Recipes\ntheme: {name: material}\n",  # mkdocs
        "---\na: 1\n---\nb: 2\n",
        "Bucket: !Ref Name\n",
        "title: {{ site.title }}: x\nbase: @b\n",
        "a: 1\na: 2\n",
        "0",
    ],
)
def test_a_config_yaml_of_another_program_is_passed(
    here: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    here.write_text(text, "utf-8")
    assert read_config() == Config()
    note = "config.yaml is ignored: it has no settings of factseek; write yours to factseek.yaml\n"
    assert capsys.readouterr() == ("", note)
    with pytest.raises(ConfigError, match=r"^config\.yaml"):
        read_config("config.yaml")  # named, it is meant


@pytest.mark.parametrize(
    "text",
    [
        "search: {k: 1, k: 2}",
        "search: {kk: 3}",
        "title: x\nsearch: {k: 3}",
        "search: {k: [\n",
        "'search': {{k}\n",
    ],
)
def test_what_is_wrong_with_a_config_yaml_of_ours_is_said(here: Path, text: str) -> None:
    here.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=r"^config\.yaml"):
        read_config()
