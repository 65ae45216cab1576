"""The search page: each module adds its own pages to the one blueprint."""

from __future__ import annotations

from . import add, check, exporting, routes, verify
from .layout import blueprint, problem_page

__all__ = ["add", "blueprint", "check", "exporting", "problem_page", "routes", "verify"]
