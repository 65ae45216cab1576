"""The page on other libraries prints what it shows, with the libraries themselves."""

import doctest
import os
import shutil
from pathlib import Path

import pytest

from tests.test_readme import ROOT, NearChecker, without_fences
from tests.test_serving_docs import SHOWN, served

LIBRARIES = ("haystack", "ir_datasets", "langchain_core", "llama_index.core", "pyterrier")


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pyterrier")
def test_the_page_prints_what_it_shows(
    example_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    for library in LIBRARIES:
        pytest.importorskip(library, reason="factseek[integrations] is not installed")
    for name in ("examples", "config.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(example_folder / "indexes", tmp_path / "indexes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = without_fences((ROOT / "docs" / "guides" / "integrations.md").read_text("utf-8"))
    told: list[str] = []
    with served(tmp_path, tmp_path / "log") as address:
        test = doctest.DocTestParser().get_doctest(
            text.replace(SHOWN, address), {}, "integrations", "docs/guides/integrations.md", 0
        )
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        outcome = doctest.DocTestRunner(NearChecker(), optionflags=flags).run(test, out=told.append)
    assert outcome.attempted > 30
    assert outcome.failed == 0, "".join(told)
