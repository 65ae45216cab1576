"""The folder of the public collections."""

from __future__ import annotations

import os
from pathlib import Path

from factseek.retrieval.errors import UsageError


def data_folder() -> Path:
    """Return the folder that ``FACTSEEK_DATA`` names.

    Raises UsageError if it names none.
    """
    folder = os.environ.get("FACTSEEK_DATA")
    if not folder:
        raise UsageError("FACTSEEK_DATA is not set: it names the folder of the public collections")
    return Path(folder)
