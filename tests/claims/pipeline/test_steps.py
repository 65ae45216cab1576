"""From tweets or a debate to a page of claims with evidence."""

# A message that is told exactly stands on one line.
# ruff: noqa: PLR0917

import json
from collections.abc import Callable
from pathlib import Path

import lxml.html
import pytest

from factseek import commands
from factseek.core.text import web_link
from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config
from tests.conftest import overriding

pytestmark = pytest.mark.real  # a ranker and a model of verdicts are trained

Ran = tuple[int, str, str]
Command = Callable[..., Ran]


@pytest.fixture(scope="module")
def models(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pipeline")
    found = {name: folder / name for name in ("pages", "index", "ranker", "verdicts")}
    for kind, source, name in (
        ("fever", "fever-pages.jsonl", "pages"),
        ("snippets", "snippets-en.tsv", "index"),
    ):
        build(
            BuildRequest(kind=kind, sources=(examples / source,), folder=found[name], dense=False),
            Config(),
        )
    tweets, claims = examples / "checkworthy-en-train.tsv", examples / "fever-train.jsonl"
    for arguments in (
        ["rank", "ct2021-1a", "--model", "ngram", "--train", tweets, "--save", found["ranker"]],
        [
            "verdict",
            "fever",
            "--train",
            claims,
            "--index",
            found["pages"],
            "--save",
            found["verdicts"],
        ],
    ):
        assert commands.main([str(argument) for argument in arguments]) == 0
    return found


def given(models: dict[str, Path], tweets: Path, output: Path) -> list[object]:
    return [
        "pipeline",
        "--input",
        tweets,
        "--ranker",
        models["ranker"],
        "--verdicts",
        models["verdicts"],
        "--index",
        models["index"],
        "--output",
        output,
    ]


def test_tweets_become_a_page(
    command: Command, models: dict[str, Path], examples: Path, tmp_path: Path
) -> None:
    tweets, output = examples / "checkworthy-en-dev.tsv", tmp_path / "todo.jsonl"
    code, out, err = command(*given(models, tweets, output), "--top", 5, "--title", "Monday <i>")
    assert code == 0, err
    assert (
        out
        == f"{output}: the 5 of 18 statements most worth checking, with evidence\n{output}.html: "
        "the page\n"
    )

    found = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [one["rank"] for one in found] == [1, 2, 3, 4, 5]
    scores = [one["check_worthiness"]["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    code, out, _ = command(
        "rank", "ct2021-1a", "--load", models["ranker"], "--input", tweets, "--top", 5, "--json"
    )
    assert [json.loads(line)["id"] for line in out.splitlines()] == [one["id"] for one in found]
    assert all(one["verdict"]["label"] in one["verdict"]["probabilities"] for one in found)

    page = lxml.html.fromstring(Path(f"{output}.html").read_text("utf-8"))
    assert page.xpath("string(//h1)") == "Monday <i>"
    assert not page.xpath(
        "//script | //img | //link | //iframe | //form | //style[contains(., 'url(')]"
    )
    for one, article in zip(found, page.xpath("//article"), strict=True):
        assert article.xpath("string(.//h2)") == one["text"]
        assert len(article.xpath(".//ol[@class='evidence']/li")) == len(one["verdict"]["evidence"])
        for sentence, item in zip(
            one["verdict"]["evidence"], article.xpath(".//ol[@class='evidence']/li"), strict=True
        ):
            assert item.xpath("string(p[1])") == sentence["text"]
            assert item.xpath(".//a/@href") == [sentence["url"]]
    inside = page.xpath("//ol[@class='contents']//a/@href")
    assert [f"#{identity}" for identity in page.xpath("//article/@id")] == inside
    assert "a person decides" in page.xpath("string(//*[@class='notice'])")

    before = output.read_bytes(), Path(f"{output}.html").read_bytes()
    assert command(*given(models, tweets, output), "--top", 5, "--title", "Monday <i>")[0] == 0
    assert before == (output.read_bytes(), Path(f"{output}.html").read_bytes())


def test_what_a_tweet_holds_is_text(
    command: Command, models: dict[str, Path], tmp_path: Path
) -> None:
    tweets, output = tmp_path / "tweets.jsonl", tmp_path / "out.jsonl"
    nasty = "</style><script>alert(1)</script> measles {{ 7 * 7 }} & \"x\" 'y'"
    tweets.write_text(
        "".join(
            json.dumps({"id": str(10**17 + i), "text": text}) + "\n"
            for i, text in enumerate([nasty, "😡 https://t.co/x"])
        )
    )
    code, _, err = command(*given(models, tweets, output), "--language", "en")
    assert code == 0, err
    html = Path(f"{output}.html").read_text("utf-8")
    assert "<script" not in html and "49" not in lxml.html.fromstring(html).xpath("string(//h2)")
    assert nasty in [heading.text_content() for heading in lxml.html.fromstring(html).xpath("//h2")]
    empty = next(
        one
        for one in map(json.loads, output.read_text("utf-8").splitlines())
        if "t.co" in one["text"]
    )
    assert (
        empty["verdict"]["abstained"] == "no evidence was found"
        and empty["verdict"]["evidence"] == []
    )
    assert "note: the evidence allows no verdict on" in err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--top 0", "--top 0: give a number, 1 or more"),
        (
            "--html {output}",
            "--html {output}: is also the file of the JSON lines; give another file",
        ),
        (
            "--html {ranker}",
            "{ranker}: is an input of this command and would be overwritten; give another file",
        ),
        ("--verdicts {ranker}", "{ranker}: is a model for ct2021-1a, not for this task"),
        (
            "--task ct2021-1b",
            "{ranker}: was trained for ct2021-1a, not for ct2021-1b; load another or train one",
        ),
    ],
)
def test_what_makes_no_sense(
    arguments: str,
    reason: str,
    command: Command,
    models: dict[str, Path],
    examples: Path,
    tmp_path: Path,
) -> None:
    tweets = examples / ("debate-health.tsv" if "1b" in arguments else "checkworthy-en-dev.tsv")
    places = {**models, "output": tmp_path / "out", "input": tweets}
    name, *usual = given(models, tweets, tmp_path / "out")
    ran = command(name, *overriding(usual, arguments.format(**places).split()))
    assert ran == (2, "", f"factseek: {reason.format(**places)}\n")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://example.org/a?b=c", "https://example.org/a?b=c"),
        (" http://example.org ", "http://example.org"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[", ""),
    ],
)
def test_links_lead_to_the_web_alone(url: str, found: str) -> None:
    assert web_link(url) == found
