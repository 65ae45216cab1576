"""Export a CrossEncoder for entailment to ONNX: ``python -m factseek.retrieval.encoders.export_entailment``.

Tokens of a text and a claim in, three scores out, whose order the description names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..dense.encoder import LABELS, label_of
from ..errors import MachineError
from .cache import ENTAILMENT, Description
from .export import export_named
from .export_cross import export_classifier, loaded


def export(source: Path, target: Path, *, name: str, revision: str, precision: str, max_tokens: int) -> Description:
    """Write the model in ``source`` to the empty folder ``target``: graph, tokenizer, description.

    Raises MachineError if its labels are not the three of entailment, it reads fewer tokens, or loses too much.
    """
    model = loaded(source)
    return export_classifier(
        model,
        target,
        ENTAILMENT,
        name=name,
        revision=revision,
        precision=precision,
        max_tokens=max_tokens,
        labels=_labels(model.config.id2label, source),
    )


def _labels(names: dict[int, str], source: Path) -> tuple[str, ...]:
    """Return the label of each score."""
    named = [str(names[number]) for number in sorted(names)]
    labels = tuple(map(label_of, named))
    if sorted(labels) != sorted(LABELS):
        raise MachineError(f"its labels are {', '.join(named)}; {', '.join(LABELS)} are needed", place=source)
    return labels


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the CrossEncoder that the command line names."""
    export_named("export_entailment", export, arguments)


if __name__ == "__main__":
    main()
