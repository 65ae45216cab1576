"""Export an encoder that reads its last layers: ``python -m factseek.retrieval.encoders.export_layered``.

The vector of a token is the mean of what the layers of the last third make of it, and of what they start from; pooling
and all else are the model's own. The last layer alone is trained for likeness of meaning; the ones before still tell
more of how something is put.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import export as plain
from .cache import Description


def export(source: Path, target: Path, *, name: str, revision: str, precision: str, max_tokens: int) -> Description:
    """Write the model in ``source``, reading its last layers, to the empty folder ``target``.

    Raises MachineError if the model cannot be run from tokens alone, reads fewer tokens, or loses too much.
    """
    return plain.export(
        source,
        target,
        name=name,
        revision=f"{revision}-layered",
        precision=precision,
        max_tokens=max_tokens,
        changed=layered,
    )


def layered(model: Any) -> Any:
    """Return a sentence-transformers model changed to read its last layers; one that shows none is left as it is."""
    import torch

    class LastLayers(torch.nn.Module):
        """The mean of the last layers in place of the last one."""

        def forward(self, features: dict[str, Any]) -> dict[str, Any]:
            """Return the features with other vectors of tokens, shape (batch, length, dimension)."""
            layers = features.get("all_layer_embeddings") or (features["token_embeddings"],)
            last = layers[-1 - (len(layers) - 1) // 3 :]
            return {**features, "token_embeddings": sum(last) / len(last)}

    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    if config is not None:
        config.output_hidden_states = True
        model.insert(1, LastLayers())
    return model


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the encoder that the command line names."""
    plain.export_named("export_layered", export, arguments)


if __name__ == "__main__":
    main()
