"""The command ``run`` at the place where the front door looks for it."""

from ..run.cli import register

__all__ = ["register"]
