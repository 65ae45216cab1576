"""Sequences of verbs against a model, the same ones each time in continuous integration."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.indexer.live import LiveDenseIndex, LiveIndex


@pytest.mark.deep
@pytest.mark.parametrize(("machine", "runs"), [(LiveIndex, 190), (LiveDenseIndex, 10)])
def test_an_index_stays_equal_to_its_model(machine: type[LiveIndex], runs: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=5,
            suppress_health_check=list(HealthCheck),
            deadline=None,
            derandomize=True,
        ),
    )
