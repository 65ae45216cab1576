"""The stance of a verdict: what its label says of the claim, whichever task the label is of."""

from __future__ import annotations

from typing import Literal

Stance = Literal["for", "against", "neither"]

_STANCES: dict[str, Stance] = {"SUPPORTS": "for", "TRUE": "for", "REFUTES": "against", "FALSE": "against"}


def stance_of(label: str) -> Stance:
    """Return the stance that a label takes towards its claim: ``neither`` for every label that decides nothing."""
    return _STANCES.get(label, "neither")
