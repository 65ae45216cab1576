"""Build, change and describe indexes with ``python -m factseek.indexer``."""

from ..core.programs import enter_package

if __name__ == "__main__":
    enter_package("indexer", __doc__, "indexer.cli:register")
