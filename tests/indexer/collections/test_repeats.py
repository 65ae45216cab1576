"""Rows that share an id come together, and none is lost."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.indexer.collections import _repeats
from factseek.indexer.collections._repeats import count_repeats, grouped

IDS = st.lists(st.sampled_from("abcdefgh") | st.text(max_size=3), max_size=60)


@given(IDS)
def test_repeats_are_counted(ids: list[str]) -> None:
    assert sorted(count_repeats(ids).values()) == sorted(n for n in Counter(ids).values() if n > 1)


@given(IDS)
def test_every_item_comes_once_with_those_of_its_id_where_the_last_stands(ids: list[str]) -> None:
    items = list(enumerate(ids))
    groups = list(grouped(items, lambda item: item[1], count_repeats(ids)))
    assert sorted(item for group in groups for item in group) == items
    assert all(len({name for _, name in group}) == 1 for group in groups)
    assert all(group == sorted(group) for group in groups)
    assert len(groups) == len(set(ids))
    assert [group[-1] for group in groups] == sorted(group[-1] for group in groups)


@given(IDS)
def test_ids_that_share_a_hash_are_told_apart(ids: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_repeats, "_hash", lambda text: len(text) % 2)
        groups = list(grouped(ids, str, count_repeats(ids)))
    assert sorted(map(tuple, groups)) == sorted(tuple([name] * n) for name, n in Counter(ids).items())


def test_items_that_never_become_complete_still_come() -> None:
    assert list(grouped(["a"], str, count_repeats(["a", "a"]))) == [["a"]]
