"""What the fuzz program finds."""

import pytest

from benchmarks.fuzz import finds, targets


@pytest.mark.inner
@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(targets()))
def test_a_broken_input_is_answered_in_words(name: str) -> None:
    failures, _ = finds(name, 0, 15 if name == "index webpages" else 60)
    assert failures == []
