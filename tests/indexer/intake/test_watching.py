"""Feeds that are watched."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from factseek import commands
from factseek.indexer.build import BuildRequest
from factseek.indexer.intake.run import IntakeRequest
from factseek.indexer.intake.watching import FeedWatch
from factseek.indexer.settings import Config, FetchSettings
from tests.indexer.intake.conftest import Site
from tests.indexer.intake.test_commands import item, rss


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def watch_of(folder: Path, clock: Clock, *feeds: str) -> FeedWatch:
    request = BuildRequest(kind="feed", sources=(), folder=folder, dense=False)
    intake = IntakeRequest(kind="feed", sources=feeds, index=folder, allow_private=True)
    config = Config(fetch=FetchSettings(seconds_between=0.0))
    return FeedWatch(request, intake, config, 60.0, clock)


def test_a_feed_is_read_at_once_and_then_each_time_it_is_due(site: Site, tmp_path: Path) -> None:
    clock = Clock()
    feed = site.put("/feed", rss([item(site, 1), item(site, 2)]))
    watch = watch_of(tmp_path / "index", clock, feed)
    (first,) = watch.look()
    assert first.report is not None
    assert first.report.documents == 2

    site.put("/feed", rss([item(site, 2), item(site, 3)]))
    clock.now = 59.0
    assert list(watch.look()) == []
    clock.now = 60.0
    (second,) = watch.look()
    assert second.report is not None
    assert (second.report.documents, second.report.replaced) == (1, 0)
    clock.now = 120.0
    assert list(watch.look()) == []


def test_a_feed_that_fails_is_tried_again(site: Site, tmp_path: Path) -> None:
    clock = Clock()
    good = site.put("/good", rss([item(site, 1)]))
    bad = site.put("/bad", "oops", 500)
    watch = watch_of(tmp_path / "index", clock, bad, good)
    failed, read = watch.look()
    assert failed.report is None
    reason = "has the status 500 Internal Server Error"
    assert failed.failures == (f"nothing could be fetched: {bad}: {reason}",)
    assert read.report is not None
    site.put("/bad", rss([item(site, 2)]))
    clock.now = 60.0
    (mended,) = watch.look()
    assert mended.report is not None
    assert mended.report.documents == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a folder to watch, or --feed; see factseek watch --help"),
        (["--feed", "rss.xml"], "--feed rss.xml: is not a web address"),
        (
            ["--feed", "https://a.org/", "--every", "soon"],
            "--every soon: give a time such as 90s, 15m, 2h or 1d",
        ),
        (
            ["--feed", "https://a.org/", "--every", "0m"],
            "--every 0m: give a time such as 90s, 15m, 2h or 1d",
        ),
    ],
)
def test_words_that_do_not_fit(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main(["watch", *words, "--index", str(tmp_path / "index")]) == 2
    assert capsys.readouterr().err == f"factseek: {message}\n"


@pytest.mark.real
@pytest.mark.parametrize("folder", [False, True])
def test_the_command_reads_a_feed_beside_a_folder_until_it_is_stopped(
    site: Site, tmp_path: Path, folder: bool
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("fetch: {seconds_between: 0}\nwatch: {settle_seconds: 0}\n")
    feed = site.put("/feed", rss([item(site, 1)]))
    words = ["watch", "--feed", feed, "--allow-private", "--index", str(tmp_path / "index")]
    words += ["--config", str(config), "--no-dense"]
    if folder:
        watched = tmp_path / "watched"
        watched.mkdir()
        (watched / "a.jsonl").write_text('{"docid": "a", "text": "A quokka."}\n')
        words += [str(watched), "--kind", "jsonl"]
    command = [sys.executable, "-m", "factseek", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            lines = {running.stdout.readline() for _ in range(2 if folder else 1)}
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0
        finally:
            running.kill()
    index = tmp_path / "index"
    expected = {f"{index}: added 1 document from {feed}\n"}
    if folder:
        expected.add(f"{index}: added 1 document from 1 file\n")
    assert lines == expected
