"""The model that a training begins with, and what is wrong with it, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...retrieval.encoders.cache import model_folder
from ...retrieval.encoders.sources import check_model_folder, find_model
from ...retrieval.errors import FactseekError, MachineError

_LONGEST = 200
"""Characters of what the libraries say that are handed on."""


@contextmanager
def opened_base(name: str) -> Iterator[str]:
    """Yield the folder of a model while it is loaded.

    Raises MachineError if it is not on this machine, lacks what is needed, or cannot be loaded.
    """
    with model_folder(find_model(name, "model")) as folder:
        check_model_folder(folder)
        try:
            yield str(folder)
        except FactseekError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise MachineError(
                f"cannot be loaded: {reason[:_LONGEST]}", place=name, remedy="fetch the model again"
            ) from error
