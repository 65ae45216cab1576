"""The configuration: every setting documented, every mistake named by its dotted key."""

from pathlib import Path

import msgspec
import pytest

from factseek.claims.checkworthiness import rankers
from factseek.core.config_file import read_yaml
from factseek.core.errors import ConfigError
from factseek.retrieval import retrievers, stages
from factseek.retrieval.config import plugin_settings
from factseek.settings import Config, read, read_config

TAG = "tag:yaml.org,2002:"


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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("index: {language: no}", ("index", "language", "no")),
        ("index: {analyzer: 10:30}", ("index", "analyzer", "10:30")),
        ("index: {analyzer: 2020-13-45}", ("index", "analyzer", "2020-13-45")),
        ("index: {analyzer: 007}", ("index", "analyzer", "007")),
        (r'index: {analyzer: "\ud83d\ude00"}', ("index", "analyzer", "\U0001f600")),
        (
            "server: {indexes: {on: /a, 2020-01-01: /b}}",
            ("server", "indexes", {"on": "/a", "2020-01-01": "/b"}),
        ),
        ("bm25: {b: 1e-1}", ("bm25", "b", 0.1)),
        ("bm25: {b: .5}", ("bm25", "b", 0.5)),
        ("search: {k: +3}", ("search", "k", 3)),
        ("search: {group: FALSE}", ("search", "group", False)),
        ("search: {<<: {k: 3, max_k: 50}, k: 4}", ("search", "k", 4)),
        ("search: {k: &many 30, max_k: *many}", ("search", "max_k", 30)),
    ],
)
def test_a_plain_value_is_what_it_looks_like(
    tmp_path: Path, text: str, value: tuple[str, str, object]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    group, name, expected = value
    assert getattr(getattr(read(path), group), name) == expected


LISTS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
MERGES = "a0: &a0 {k: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("search: {k: 10:30}", ": search.k: expected int, got str"),
        ("search: {k: 2020-13-45}", ": search.k: expected int, got str"),
        ("search: {k: 2020-01-01T01:00:00+99:99}", ": search.k: expected int, got str"),
        ("search: {k: 010}", ": search.k: expected int, got str"),
        ("search: {k: 1_000}", ": search.k: expected int, got str"),
        (
            "search: {stages: [collapse, sort, collapse=near]}",
            ": search.stages: names the stage collapse twice; leave one out",
        ),
        ("search: {group: yes}", ": search.group: expected bool, got str; write true or false"),
        ("bm25: {k1: .inf}", ": bm25.k1: expected float <= 1000000.0"),
        ("bm25: {k1: .nan}", ": bm25.k1: expected float >= 0.0"),
        ("search:\n  k: !!bool maybe", ":2: 'maybe' is no bool; leave out the tag !!bool"),
        ("search: {k: !!int 1:30}", ":1: '1:30' is no int; leave out the tag !!int"),
        (f"search: {{k: {'9' * 5000}}}", ":1: a number has too many digits"),
        (
            r'index: {language: "\ud83d"}',
            ":1: a text has half of a surrogate pair; write the character itself",
        ),
        ("search:\n  k: \a", ":2: is not YAML: the character U+0007 is not allowed"),
        (
            r'search: {k: "\UFFFFFFFF"}',
            ": contains an invalid value: Python int too large to convert to C int",
        ),
        ("search: &a [*a]", ":1: a value contains an alias of itself; write it out"),
        (LISTS, ":6: has more than 100,000 values with its aliases written out; use fewer aliases"),
        (
            MERGES,
            ":6: has more than 100,000 values with its aliases written out; use fewer aliases",
        ),
        *(
            (
                f"search: {{k: !!{tag} x}}",
                f":1: is not YAML: could not determine a constructor for the tag '{TAG}{tag}'",
            )
            for tag in ("binary", "timestamp", "set")
        ),
    ],
)
def test_what_yaml_could_misread_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as error:
        read(path)
    assert str(error.value) == f"{path}{fault}"


def test_a_key_of_a_merged_mapping_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: {b: {c: &c {<<: {k: 1}, k: 2}}}\nsearch: {<<: *c}\n", "utf-8")
    assert read_yaml(path) == {"a": {"b": {"c": {"k": 2}}}, "search": {"k": 2}}


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
