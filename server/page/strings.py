"""The texts of the page in other languages than English, by their English text: all of them, in this one file."""

from __future__ import annotations

from collections.abc import Mapping

LANGUAGES: Mapping[str, str] = {"en": "English", "ar": "العربية"}
"""The languages that the page speaks, each by its own name."""

ARABIC: Mapping[str, str] = {}
