"""A real browser before the pages of the small indexes, and axe-core, which looks for what shuts
people out.
"""

import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from flask import Flask
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait
from werkzeug.serving import make_server

from factseek.claims.verdicts.verdict import TrainedVerdicts
from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.settings import Config

CLAIM = "Two doses of the measles vaccine are 97 percent effective."
SEARCH = f"/?index=example-en&query={quote(CLAIM)}"
SIDE = f"{SEARCH}&view=side"
ARABIC = f"/?index=example-ar&query={quote('نهر النيل')}"
DOCUMENT = f"/documents/example-en/measles?query={quote(CLAIM)}&passage=0"
WIDE, PHONE, NARROW = (1440, 1000), (390, 844), (320, 640)
AXE = "4.14.1"
SECONDS_TO_ARRIVE = 60


@pytest.fixture(scope="session")
def app(
    indexes: dict[str, Index],
    config: Config,
    rankers: dict[str, ServedRanker],
    models: dict[str, TrainedVerdicts],
) -> Flask:
    return create_app(config, indexes, ranked_by=rankers, judged_by=models)


@pytest.fixture(scope="module")
def address(
    config: Config,
    indexes: dict[str, Index],
    rankers: dict[str, ServedRanker],
    models: dict[str, TrainedVerdicts],
) -> Iterator[str]:
    served = {"example-en": indexes["english"], "example-ar": indexes["arabic"]}
    with listening(create_app(config, served, ranked_by=rankers, judged_by=models)) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def listening(app: Flask) -> Iterator[int]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Browser:
    def __init__(self, chromium: webdriver.Chrome, address: str) -> None:
        self.driver = chromium
        self._address = address

    def size(self, size: tuple[int, int]) -> None:
        metrics = {
            "width": size[0],
            "height": size[1],
            "deviceScaleFactor": 1,
            "mobile": size != WIDE,
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, scheme: str) -> None:
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, path: str) -> None:
        self.driver.get(self._address + path)
        # Under load, `get` can return while a long page still arrives.
        whole = "return document.readyState === 'complete'"
        WebDriverWait(self.driver, SECONDS_TO_ARRIVE).until(
            lambda driver: driver.execute_script(whole), path
        )

    def one(self, selector: str) -> WebElement:
        """Return an element, which may be that of a page that is still on its way after a click."""
        arrived = expected_conditions.presence_of_element_located((By.CSS_SELECTOR, selector))
        return WebDriverWait(self.driver, SECONDS_TO_ARRIVE).until(
            arrived, f"there is no {selector}"
        )

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def script(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *values)

    def violations(self, axe: str) -> list[str]:
        # Handed over as a script of the browser's own, which the policy of the page does not
        # forbid.
        self.driver.execute_script(axe)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then(found => "
            "done(found.violations))"
        )
        return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]

    @property
    def asked(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.driver.current_url).query)


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from the npm registry once for all tests of a machine."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "factseek-tests"
    script = folder / f"axe-{AXE}.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if not npm:
            pytest.skip(
                "there is no npm on this machine, which fetches axe-core: apt-get install npm"
            )
        fetched = tmp_path_factory.mktemp("axe")
        command = [npm, "pack", f"axe-core@{AXE}", "--silent", "--pack-destination", str(fetched)]
        subprocess.run(command, check=True, timeout=120, capture_output=True)
        with tarfile.open(fetched / f"axe-core-{AXE}.tgz") as package:
            content = package.extractfile("package/axe.min.js")
            assert content is not None
            folder.mkdir(parents=True, exist_ok=True)
            script.write_bytes(content.read())
    return script.read_text("utf-8")


@pytest.fixture
def browser(chromium: webdriver.Chrome, address: str) -> Iterator[Browser]:
    """The browser, wide and light; whatever it complains about fails the test."""
    chromium.get_log("browser")
    browser = Browser(chromium, address)
    browser.size(WIDE)
    browser.scheme("light")
    yield browser
    complaints = [
        one["message"]
        for one in chromium.get_log("browser")
        if one["level"] in ("WARNING", "SEVERE")
    ]
    assert complaints == []
