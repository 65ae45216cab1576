"""Nothing is found by axe-core on each page in each of its states, wide and light, on a phone and dark."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from .conftest import ARABIC, DOCUMENT, PHONE, SEARCH, SIDE, Browser

pytestmark = pytest.mark.real

STATES = {
    "start": "/",
    "list": SEARCH,
    "side by side": SIDE,
    "narrowed": f"{SEARCH}&filter=topic%3Dhealth&since=2019&undated=keep&hits=2&stages=per_source%3D1",
    "several indexes": f"/?index=example-en&index=example-ar&query={quote('measles نهر')}",
    "the newest first, misspelt": "/?index=example-en&query=measels&sort=date",
    "more like this": "/?index=example-en&like=measles",
    "Arabic": ARABIC,
    "Arabic, side by side": f"{SIDE}&lang=ar",
    "nothing found": "/?index=example-en&query=measles&as_of=1900",
    "problem": f"/?index=example-en&query={quote('?!')}",
    "no page": "/nothing",
    "check": f"/check?text={quote('Two doses are 97 percent effective, a study found.')}",
    "check, empty": "/check",
    "verify": f"/verify?index=example-en&claim={quote('Two doses of the measles vaccine are effective.')}",
    "verify, no model": f"/verify?index=example-ar&claim={quote('نهر النيل')}",
    "add": "/add",
    "document": DOCUMENT,
    "reference": "/docs",
}


@pytest.mark.parametrize("state", STATES)
def test_nobody_is_shut_out(browser: Browser, axe: str, state: str) -> None:
    browser.open(STATES[state])
    open_all = "document.querySelectorAll('main details').forEach(one => { one.open = true; })"
    browser.driver.execute_script(open_all)
    browser.driver.get_log("browser")  # a page that is a problem is reported as such
    assert browser.violations(axe) == []
    browser.scheme("dark")
    browser.size(PHONE)
    assert browser.violations(axe) == []
