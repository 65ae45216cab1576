"""The page on Pyserini in the same process: its script, and the order in which Java may start."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "guides" / "pyserini.md"


def run_script(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_the_script_compares_both_libraries_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = PAGE.read_text("utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    done = run_script(script, tmp_path)
    assert done.returncode == 0, done.stderr[-2_000:]
    last = done.stdout.splitlines()[-1]
    assert last.startswith("22 queries: 22 with equal scores, ")
    assert f"It prints `{last}`" in text


def test_java_that_another_library_started_is_refused_as_the_page_says(tmp_path: Path) -> None:
    script = """
import pyserini
from factseek.retrieval.lucene.jvm import java_home
import os
os.environ["JAVA_HOME"] = str(java_home())
import jnius
import factseek
try:
    factseek.build("jsonl", [{"docid": "1", "text": "a text"}], "index", dense=False)
except factseek.MachineError as error:
    print(error.line)
"""
    done = run_script(script, tmp_path)
    assert done.returncode == 0, done.stderr[-2_000:]
    (message,) = re.findall(r"MachineError: `([^`]+)`", PAGE.read_text("utf-8"))
    assert done.stdout.splitlines()[-1].startswith(message)
