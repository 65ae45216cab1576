"""The page's other languages: every text of the templates has its translation, and nothing is translated in vain."""

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.retrieval import retrievers, stages
from factseek.server.errors import TITLES
from factseek.server.page.i18n import texts

ARABIC = texts("ar")

TEXT = re.compile(r'\bt\((?:"([^"]+)"|\'([^\']+)\')\s*[,)]')
FIELD = re.compile(r"\{\w+\}")


def test_every_text_of_a_template_is_spoken(root: Path) -> None:
    templates = root / "server" / "page" / "templates"
    texts = {a or b for path in templates.glob("*.html") for a, b in TEXT.findall(path.read_text("utf-8"))}
    assert len(texts) > 100
    assert texts - ARABIC.keys() == set()


def test_nothing_is_translated_in_vain(root: Path) -> None:
    page = root / "server" / "page"
    files = [*page.glob("templates/*.html"), *page.glob("*.py")]
    shown = "\n".join(path.read_text("utf-8") for path in files)
    kinds = [retrievers.kind(name) for name in retrievers.names()]
    labels = {text for kind in kinds for text in (kind.LABEL, kind.HELP)}
    kinds_of_stages = [stages.KINDS.load(name) for name in stages.names()]
    labels |= {kind.LABEL for kind in kinds_of_stages} | set(TITLES.values())
    labels |= {kind.HELP.rpartition(": ")[0] for kind in kinds_of_stages}
    labels |= {"SUPPORTS", "REFUTES", "NOT ENOUGH INFO", "TRUE", "FALSE", "topic", "language", "kind", "source"}
    labels |= {"rating", "{ms} ms ranking", "{ms} ms evidence", "before", "after"}
    assert [text for text in ARABIC if text not in labels and text not in shown] == []


@pytest.mark.parametrize("text", ARABIC)
def test_a_translation_has_the_same_values(text: str) -> None:
    assert set(FIELD.findall(ARABIC[text])) == set(FIELD.findall(text))


@pytest.mark.parametrize("address", ["/?index=arabic", "/?lang=ar", "/check?index=arabic", "/verify?lang=ar"])
def test_the_page_speaks_arabic_where_the_index_does(client: FlaskClient, address: str) -> None:
    text = client.get(address).text
    assert '<html lang="ar" dir="rtl">' in text
    assert '<html lang="en"' in client.get(f"{address}&lang=en").text or "lang=ar" in address
