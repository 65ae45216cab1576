"""Evaluate retrieval with ``python -m factseek.eval``: run, check, score, compare, tune and
bench.
"""

from ..core.programs import enter_package

if __name__ == "__main__":
    enter_package(
        "eval",
        __doc__,
        "eval.run.run:register",
        "eval.run.judge:register",
        "eval.learn.cli:register_tune",
        "eval.bench.bench:register",
    )
