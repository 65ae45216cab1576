"""Take the pictures of the pages that the documentation shows, of the bundled example: ``make
pictures``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from selenium import webdriver

HERE = Path(__file__).resolve().parent
CLAIM = quote("Dexamethasone cuts deaths in patients on ventilators")
EXAMPLE = quote("Two doses of the measles vaccine are 97 percent effective.")
TWEETS = quote(
    "Good morning everybody, the sun is out!\n"
    "Dexamethasone cuts deaths in patients on ventilators, a trial of 6,425 found."
    "\nTwo doses of the measles vaccine are 97 percent effective."
)
ARABIC = quote("بدأت إثيوبيا بناء سد النهضة عام 2011")


class Picture(NamedTuple):
    """A picture: what it shows, how large, in which colours."""

    name: str
    path: str
    width: int
    height: int
    scheme: str = "light"


PICTURES = (
    Picture("page-wide", f"/?index=example-en&query={CLAIM}", 1440, 1000),
    Picture("page-dark", f"/?index=example-en&query={CLAIM}", 1440, 1000, "dark"),
    Picture("page-phone", f"/?index=example-en&query={CLAIM}", 390, 844),
    Picture("page-side", f"/?index=example-en&query={CLAIM}&view=side", 1440, 1000),
    Picture("page-check", f"/check?index=example-en&text={TWEETS}", 1440, 800),
    Picture("page-verify", f"/verify?index=example-en&claim={EXAMPLE}", 1440, 1000),
    Picture("page-arabic", f"/?index=example-ar&query={ARABIC}", 390, 844),
    Picture(
        "page-document",
        f"/documents/example-en/en-vaccines-measles?query={quote('measles vaccine')}",
        1000,
        800,
    ),
)


def take(address: str) -> None:
    """Take all pictures of the server at ``address``."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "hide-scrollbars",
    ):
        options.add_argument(f"--{argument}")
    driver = webdriver.Chrome(
        service=webdriver.ChromeService(shutil.which("chromedriver")), options=options
    )
    try:
        for picture in PICTURES:
            metrics = {
                "width": picture.width,
                "height": picture.height,
                "deviceScaleFactor": 1,
                "mobile": False,
            }
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            features = [{"name": "prefers-color-scheme", "value": picture.scheme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            for _ in range(12):  # a warm server's times are what people see
                driver.get(address + picture.path)
            driver.save_screenshot(str(HERE / f"{picture.name}.png"))
    finally:
        driver.quit()


def main() -> None:
    """Serve the example as ``make serve`` does, on a free port, and take the pictures."""
    command = [sys.executable, "-m", "factseek", "serve", "--port", "0", "--workers", "1"]
    server = subprocess.Popen(command, cwd=HERE.parent, stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr or ():
            if address := re.search(r" on (http://127\.0\.0\.1:\d+)$", line):
                # The log is read on, so that the server never waits for its reader.
                threading.Thread(
                    target=lambda: [None for _ in server.stderr or ()], daemon=True
                ).start()
                take(address[1])
                return
        sys.exit("the server did not start")
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    main()
