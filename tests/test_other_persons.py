"""From a file that somebody saved her own way to evidence, by nothing but what the messages say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("factseek")
RUSSIAN = (
    "Номер;Заголовок;Текст;Дата\r\n"
    '1;Корь;"Вакцина от кори безопасна; её делают с 1967 года.";2020-03-01\r\n'
    "2;Мост;Мост через реку построили в 1932 году.;2020-03-02\r\n"
)
TURKISH = (
    "Kimlik;Başlık;Metin\r\n"
    '1;Kızamık;"Kızamık aşısı güvenlidir; 1967\'den beri yapılıyor."\r\n'
    "2;Köprü;Nehrin üstündeki köprü 1932 yılında yapıldı.\r\n"
)
ARABIC = "رقم;عنوان;نص\r\n1;الحصبة;لقاح الحصبة آمن\r\n2;النيل;نهر النيل طويل\r\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "Anna's files (мои)"
    folder.mkdir()
    return folder


def ran(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], cwd=here, capture_output=True, text=True, check=False, env=os.environ)


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "language", "encoding", "query"),
    [
        (RUSSIAN, "ru", "cp1251", "безопасна ли вакцина от кори?"),
        (TURKISH, "tr", "utf-16", "kızamık aşısı güvenli mi?"),
        (ARABIC, "ar", "cp1256", "هل لقاح الحصبة آمن"),
    ],
)
def test_a_spreadsheet_of_another_country(here: Path, text: str, language: str, encoding: str, query: str) -> None:
    file = here / "моя таблица.csv"
    file.write_bytes(text.encode(encoding))
    header, first, *_ = (line.split(";") for line in text.split("\r\n"))
    columns = [f"--column={field}={name}" for field, name in zip(("docid", "title", "text"), header, strict=False)]
    index = ("index", "snippets", file.name, "--no-dense", "--language", language, "--index", "my index", *columns)
    done = ran(here, *index)
    assert done.returncode == 0, done.stderr
    found = ran(here, "search", query, "--index", "my index", "--json")
    hit = json.loads(found.stdout)["hits"][0]
    assert (hit["docid"], hit["title"]) == ("1", first[1])
