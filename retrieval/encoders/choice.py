"""The choice of an encoder: for a new index by its language, for one that is there by what its manifest names."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..config import AUTO, EncoderSettings
from ..store.manifest import EncoderInfo
from .sources import BUNDLES, ENGLISH, MULTILINGUAL

_PROMPTS = ("max_tokens", "query_prompt", "document_prompt")
"""The settings that belong to one model."""


def for_language(settings: EncoderSettings, language: str) -> EncoderSettings:
    """Return the settings with the model that ``auto`` stands for in a collection of a language.

    Model and languages are the only ones that change: the English model for English, the multilingual for others.
    """
    if settings.model != AUTO:
        return settings
    return msgspec.structs.replace(settings, model=ENGLISH if language == "en" else MULTILINGUAL)


def named(settings: EncoderSettings, model: str) -> EncoderSettings:
    """Return the settings for a model, without what is configured for another one."""
    if settings.model == model:
        return settings
    plain = EncoderSettings()
    return msgspec.structs.replace(
        settings, model=model, languages=(), **{name: getattr(plain, name) for name in _PROMPTS}
    )


def of_index(made_by: EncoderInfo, settings: EncoderSettings) -> EncoderSettings:
    """Return the settings that open the encoder that made the vectors of an index, wherever that was configured.

    Where it is kept and how many threads it may use is as configured, and so is what is put before a query if the
    same model is configured. A manifest of an earlier version names the model alone.
    """
    model = made_by.model or (settings.model if Path(settings.model).name == made_by.name else made_by.name)
    settings = msgspec.structs.replace(named(settings, model), precision=made_by.precision)
    if not made_by.model:
        return settings
    return msgspec.structs.replace(
        settings,
        max_tokens=made_by.max_tokens,
        document_prompt=made_by.document_prompt,
        query_prompt=settings.query_prompt or made_by.query_prompt,
    )


def languages(name: str, settings: EncoderSettings) -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the languages that the model ``name`` knows; ``()`` if it is to know all.

    They are those that are configured for it, else those that are known of a bundled one.
    """
    if settings.languages and settings.model != AUTO and Path(settings.model).name == Path(name).name:
        return settings.languages
    return BUNDLES[name].languages if name in BUNDLES else ()
