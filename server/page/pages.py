"""All pages: each module adds its own to the one blueprint."""

from __future__ import annotations

from . import add, check, documents, exporting, routes, verify
from .shell import blueprint

__all__ = ["add", "blueprint", "check", "documents", "exporting", "routes", "verify"]
