"""The search page. Each module adds its pages to the one blueprint."""

from __future__ import annotations

from . import add, change, check, key, routes, verify
from .layout import blueprint, problem_page

__all__ = ["add", "blueprint", "change", "check", "key", "problem_page", "routes", "verify"]
