"""The page's other languages: every text of the templates has its translation, and nothing is
translated in vain.
"""

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.server.page.i18n import texts

ARABIC = texts("ar")

TEXT = re.compile(r'\bt\((?:"([^"]+)"|\'([^\']+)\')\s*[,)]')
FIELD = re.compile(r"\{\w+\}")


def test_every_text_of_a_template_is_spoken(root: Path) -> None:
    templates = root / "server" / "page" / "templates"
    texts = {
        a or b
        for path in templates.glob("*.html")
        for a, b in TEXT.findall(path.read_text("utf-8"))
    }
    assert len(texts) > 100
    assert texts - ARABIC.keys() == set()


@pytest.mark.parametrize("text", ARABIC)
def test_a_translation_has_the_same_values(text: str) -> None:
    assert set(FIELD.findall(ARABIC[text])) == set(FIELD.findall(text))


@pytest.mark.parametrize(
    "address", ["/?index=arabic", "/?lang=ar", "/check?index=arabic", "/verify?lang=ar"]
)
def test_the_page_speaks_arabic_where_the_index_does(client: FlaskClient, address: str) -> None:
    text = client.get(address).text
    assert '<html lang="ar" dir="rtl">' in text
    assert '<html lang="en"' in client.get(f"{address}&lang=en").text or "lang=ar" in address
