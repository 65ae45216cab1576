"""The names of served indexes."""

from __future__ import annotations

import pytest

from factseek.retrieval.errors import ConfigError
from factseek.retrieval.index.local import Index
from factseek.server.app import create_app
from factseek.server.upkeep.service import checked_name
from factseek.settings import Config


@pytest.mark.parametrize("name", ["a", "9", "example-en", "CT20.AR_1", "x" * 64, "search"])
def test_a_good_name_is_taken(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "-a", "_a", "a/b", "a b", "x" * 65, "é", "a\n", "../etc"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_name(name)
    assert caught.value.line == (
        f"server.indexes: {name!r} cannot name an index; take up to 64 letters, digits, '.', '_' and '-', "
        "a letter or digit first"
    )


@pytest.mark.parametrize("name", ["indexes", "jobs", "claims"])
def test_a_reserved_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_name(name)
    assert str(caught.value) == f"server.indexes: the name {name!r} is reserved; choose another"


def test_an_application_checks_its_names(indexes: dict[str, Index]) -> None:
    with pytest.raises(ConfigError, match="reserved"):
        create_app(Config(), {"jobs": indexes["arabic"]})
