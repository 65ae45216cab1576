"""Serve indexes over HTTP with ``python -m factseek.server``."""

from ..core.programs import enter_package

if __name__ == "__main__":
    enter_package("server", __doc__, "server.cli:register")
