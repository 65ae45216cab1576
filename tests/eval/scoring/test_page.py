"""Pages of figures: all columns fit where a name may be broken and a figure is not."""

from __future__ import annotations

import pytest

from factseek.eval.scoring.tables import html_table

pytestmark = pytest.mark.inner


@pytest.mark.parametrize("cell", ["0.1234", "+0.0133", "-0.0803 to +0.0404", "1,200", "12%", "0.123–0.456"])
def test_a_figure_is_not_broken(cell: str) -> None:
    assert f'<td class="figure">{cell}</td>' in html_table(["x"], [[cell]])


@pytest.mark.parametrize("cell", ["a_run_with_a_long_name", "-", "bm25", "q1: 2 to 3", "<b>"])
def test_a_name_may_be(cell: str) -> None:
    assert "class" not in html_table(["x"], [[cell]]).split("<table>")[1]
