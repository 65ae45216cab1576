"""``check``, ``score`` and ``compare`` at the place where the front door looks for them."""

from ..run.judge import register

__all__ = ["register"]
