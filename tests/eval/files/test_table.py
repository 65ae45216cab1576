"""Tables of a task's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from factseek.eval.files.tables import rows_below
from factseek.retrieval.errors import SourceError

pytestmark = pytest.mark.inner


def test_a_header_with_a_line_end_in_a_cell_is_refused() -> None:
    with pytest.raises(SourceError) as caught:
        rows_below(Path("a.csv"), [(1, "tweet_id,a\rb"), (2, "1,x")], ",")
    assert str(caught.value) == "a.csv:1: the header is not a row of a table: a cell holds a line end"
