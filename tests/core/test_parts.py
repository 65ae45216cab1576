"""Texts of several parts."""

from typing import Any

import pytest

from factseek.core.parts import PartSpan, first_part, join_parts, parts_of


def test_parts_are_on_lines_of_their_own() -> None:
    text, starts = join_parts([" Wind kills. ", "", "No study\nsays so.", "Wind kills."])
    assert (text, starts) == ("Wind kills.\nNo study\nsays so.", [0, 12])
    spans = parts_of(text, {"part_starts": starts})
    assert spans == [PartSpan(0, 11), PartSpan(12, 29)]
    assert [text[span.start : span.end] for span in spans] == ["Wind kills.", "No study\nsays so."]
    assert first_part(text, {"part_starts": starts}) == "Wind kills."


@pytest.mark.parametrize(
    "starts",
    ["0", [], [0], [1, 2], [0, 0], [0, 99], [0, 4], [0, True], [0, 2.0], [0, "2"], {"a": 1}],
)
def test_metadata_that_do_not_fit_the_text_divide_nothing(starts: Any) -> None:
    assert parts_of("ab\ncd", {"part_starts": starts}) == [PartSpan(0, 5)]
    assert parts_of("ab\ncd", {"part_starts": [0, 3]}) == [PartSpan(0, 2), PartSpan(3, 5)]
