"""A small real encoder: the embedded one with its first layer alone, so that a training takes seconds."""

from __future__ import annotations

from pathlib import Path

from factseek.retrieval.encoders.sources import find_model


def small_encoder(folder: Path) -> Path:
    """Save the embedded encoder with its first layer alone."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(find_model("all-MiniLM-L6-v2").path), device="cpu", local_files_only=True)
    transformer = model[0].auto_model
    transformer.encoder.layer = transformer.encoder.layer[:1]
    transformer.config.num_hidden_layers = 1
    model.save(str(folder), create_model_card=False)
    return folder
