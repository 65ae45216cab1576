"""``train`` at the place where the front door looks for it."""

from .learn.cli import register_train as register

__all__ = ["register"]
