"""Measure the speed of the backend torch beside sentence-transformers: ``make bench-gpu``.

The model has random weights in the shape of all-MiniLM-L6-v2, with its tokenizer: speed does not
depend on the values. The texts are random words, of the lengths of passages. Both sides encode the
same texts in turns, in batches of the same size. Without ``--device cpu``, a GPU is needed.
``--write`` puts the table into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring import (
    WRITE,
    Bounds,
    Row,
    in_turns,
    program,
    publish,
    rate_in_turns,
    table,
)
from factseek import EncoderSettings
from factseek.core.terminal import say
from factseek.eval.scoring.machine import this_machine
from factseek.retrieval.encoders.encoder import Encoder
from factseek.retrieval.encoders.sources import ENGLISH, find_model
from factseek.retrieval.encoders.torch_encoder import BATCH, TorchEncoder

PRECISIONS = {
    "cpu": ("fp32",),
    "cuda": ("fp32", "fp16", "bf16"),
    "mps": ("fp32", "fp16"),
}
"""The precisions to measure, by the device; a processor computes lower ones slowly."""
TEXTS = {"cpu": 32, "cuda": 20_000, "mps": 5_000}
"""The number of texts of a round, by the device."""
SHORTEST, LONGEST = 40, 200  # words of a text
LEAST = 0.95
"""The least share of the rate of sentence-transformers."""
ROUNDS = 3


@program(
    ("--device", {"default": "cuda", "choices": list(TEXTS), "help": "the device of torch"}), WRITE
)
def main(args: argparse.Namespace) -> None:
    """Measure each precision, and print the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "random-minilm"
        save_model(folder)
        texts = random_texts(TEXTS[args.device])
        rows = [
            measure(folder, args.device, precision, texts) for precision in PRECISIONS[args.device]
        ]
    publish("gpu", f"{table(rows)}\n\n{device_name(args.device)}.", document=args.write)


def save_model(folder: Path) -> None:
    """Write a sentence-transformers model with random weights and the tokenizer of MiniLM."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    source = find_model(ENGLISH).path
    tokenizer = PreTrainedTokenizerFast.from_pretrained(str(source))
    shape = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    )
    with tempfile.TemporaryDirectory() as scratch:
        BertModel(shape).save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        parts = [
            modules.Transformer(scratch, max_seq_length=256),
            modules.Pooling(shape.hidden_size),
            modules.Normalize(),
        ]
        model = SentenceTransformer(modules=parts, device="cpu")
        model.save(str(folder), create_model_card=False)


def random_texts(count: int) -> list[str]:
    """Return texts of random words of the tokenizer's vocabulary, the same in each run."""
    lines = (find_model(ENGLISH).path / "vocab.txt").read_text("utf-8").splitlines()
    words = [line for line in lines if line.isalpha()]
    drawn = random.Random(0)  # noqa: S311  no secret
    return [
        " ".join(drawn.choices(words, k=drawn.randint(SHORTEST, LONGEST))) for _ in range(count)
    ]


def measure(folder: Path, device: str, precision: str, texts: Sequence[str]) -> Row:
    """Return the rate of encoding texts beside that of sentence-transformers' ``encode``."""
    import torch
    from sentence_transformers import SentenceTransformer

    kinds = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    settings = EncoderSettings(
        model=str(folder), backend="torch", device=device, precision=precision
    )
    with closing(TorchEncoder(settings)) as encoder:
        peer: Any = SentenceTransformer(
            str(folder), device=device, model_kwargs={"torch_dtype": kinds[precision]}
        )
        theirs = partial(
            peer.encode,
            list(texts),
            batch_size=BATCH[device],
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        runs = (partial(encode, encoder, texts), theirs)
        ours, others = rate_in_turns(len(texts), runs, rounds=ROUNDS)
    row = in_turns(f"encoded in {precision}", "texts/s", ours, others, Bounds(least=LEAST))
    say(f"{row.what}: {row.value:.3f} of the rate of sentence-transformers")
    return row


def encode(encoder: Encoder, texts: Sequence[str]) -> None:
    """Encode documents as a build does, as a stream."""
    for _ in encoder.encode_documents_stream(texts):
        pass


def device_name(device: str) -> str:
    """Return what the texts were encoded on."""
    import torch

    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    return f"{device}: {this_machine()}"


if __name__ == "__main__":
    sys.exit(main())
