"""All pages: each module adds its own to the one blueprint."""

from __future__ import annotations

from . import documents, exporting, routes
from .shell import blueprint

__all__ = ["blueprint", "documents", "exporting", "routes"]
