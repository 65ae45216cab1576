"""JSON in another form than one record a line is named, with the command that makes it one."""

from __future__ import annotations

import json
import shlex

import pytest

from factseek.retrieval.records.table_shape import continued, list_advice, wrapper_advice

RECORDS = [{"id": "1"}, {"id": "2"}]


@pytest.mark.parametrize(
    ("name", "path"),
    [("data", ".data[]"), ("a b", '.["a b"][]'), ("veri-1", '.["veri-1"][]'), ('"', r'.["\""][]'), ("é", '.["é"][]')],
)
def test_the_list_in_an_object_is_named_with_its_path(name: str, path: str) -> None:
    advice = wrapper_advice({"count": 2, name: RECORDS, "links": []})
    assert advice == f"; its {name!r} is a list of objects: write these one per line, as jq -c {shlex.quote(path)} does"


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"id": "1"},
        {"data": []},
        {"data": [1]},
        {"data": [*RECORDS, 1]},
        {"a": RECORDS, "b": RECORDS},
        {"a\nb": RECORDS},
        {"a" * 50: RECORDS},
    ],
)
def test_nothing_is_said_where_it_is_not_clear(row: dict[str, object]) -> None:
    assert wrapper_advice(row) == ""


def test_a_list_is_named_where_it_holds_objects() -> None:
    assert list_advice(RECORDS) == ": write its objects one per line, as jq -c '.[]' does"
    assert [list_advice(value) for value in ([], [1], {}, "x")] == ["", "", "", ""]


def test_the_first_line_of_json_over_several_lines_is_known() -> None:
    for value in (RECORDS, RECORDS[0], {"data": RECORDS}):
        first = json.dumps(value, indent=1).split("\n", 1)[0]
        assert continued(first).startswith("is the beginning of JSON that goes on over several lines: ")
    assert continued('{"data": [\r').startswith("is the beginning")
    assert [continued(line) for line in ("", '{"id": "1"', "[1, 2", "x {", '{"a": 1}')] == ["", "", "", "", ""]
