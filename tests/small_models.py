"""Small real models of one layer, made once and kept in the environment: all tests and runs share
them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from factseek.retrieval.encoders.sources import find_model

KEPT = Path(sys.prefix) / "small-models"
PAIRS = [
    (
        "Measles vaccination prevents deaths",
        "Vaccination against measles prevented millions of deaths.",
        1.0,
    ),
    ("Measles vaccination prevents deaths", "The Nile is the longest river of Africa.", 0.0),
    ("The Nile is the longest river", "At 6,650 kilometres the Nile is the longest river.", 1.0),
    ("The Nile is the longest river", "Vitamin C does not prevent the common cold.", 0.0),
    ("Vitamin C prevents colds", "Trials found that vitamin C does not prevent colds.", 1.0),
    ("Vitamin C prevents colds", "Pluto was reclassified as a dwarf planet.", 0.0),
    ("Pluto is a planet", "Astronomers no longer count Pluto as a planet.", 1.0),
    ("Pluto is a planet", "Vaccination against measles prevented millions of deaths.", 0.0),
]
STEPS = 30
PIECES = """
a after air ask at cause children claim cold common count deaths do does drug every evidence fast
feed from heat ice in is it kills level long mask measles melt melts million million
nile no not nurse ocean of on people pluto planet prevent prevents rain river rise rises school
sea sheets spread store studies that the this through to trial trials vaccine vaccination virus
vitamin water world year ##al ##es ##ing ##ed ##s ##ation
""".split()
"""The words of the small sparse model; it spells all other words in letters."""


def small_encoder() -> Path:
    """Return the folder of the embedded encoder with its first layer alone."""
    return _kept("small-encoder", _save_encoder)


def small_cross_encoder() -> Path:
    """Return the folder of a CrossEncoder of one layer that was trained on a few pairs."""
    return _kept("small-cross-encoder", _save_cross_encoder)


def small_entailment() -> Path:
    """Return the folder of a CrossEncoder of one layer with a head for three labels in an order of
    their own.
    """
    return _kept("small-entailment", _save_entailment)


def small_sparse_model() -> Path:
    """Return the folder of a SparseEncoder of one layer with a vocabulary of some hundred pieces:
    it gives a text its own words, and a few more.
    """
    return _kept("small-sparse-model", _save_sparse_model)


def _kept(name: str, save: Callable[[str], None]) -> Path:
    folder = KEPT / name
    if not folder.exists():
        KEPT.mkdir(exist_ok=True)
        made = tempfile.mkdtemp(dir=KEPT)
        save(made)
        try:
            Path(made).rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return folder


def _save_encoder(folder: str) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(find_model("all-MiniLM-L6-v2").path), device="cpu", local_files_only=True
    )
    transformer = model[0].auto_model
    transformer.encoder.layer = transformer.encoder.layer[:1]
    transformer.config.num_hidden_layers = 1
    model.save(folder, create_model_card=False)


def _save_sparse_model(folder: str) -> None:
    import torch
    from sentence_transformers import SparseEncoder
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *PIECES])
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True)
    whole = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        **{f"{name}_token": piece for name, piece in names},
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.02,
    )
    model = BertForMaskedLM(config)
    with torch.no_grad():
        # A token then gives its own piece the largest weight, and few others any weight.
        model.bert.embeddings.word_embeddings.weight.normal_(std=1.0)
        model.cls.predictions.transform.dense.weight.copy_(torch.eye(32))
        model.cls.predictions.bias.fill_(-9.0)
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        whole.save_pretrained(scratch)
        SparseEncoder(scratch, device="cpu", local_files_only=True).save(
            folder, create_model_card=False
        )


def _save_cross_encoder(folder: str) -> None:
    import torch

    model = _cross_encoder(labels=1)
    classifier: Any = model.transformers_model.train()
    # Most of the weights are those of the words, which need no more training, and cost the most of
    # it.
    classifier.get_input_embeddings().requires_grad_(False)
    weights = [weight for weight in classifier.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=1e-3)
    tokens = model.tokenizer(
        [pair[:2] for pair in PAIRS], padding=True, truncation=True, return_tensors="pt"
    )
    labels = torch.tensor([pair[2] for pair in PAIRS])
    for _ in range(STEPS):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            classifier(**tokens).logits[:, 0], labels
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)


def _save_entailment(folder: str) -> None:
    import torch

    model = _cross_encoder(labels=3)
    torch.nn.init.normal_(model.transformers_model.classifier.weight, std=1.0)
    model.config.id2label = {0: "CONTRADICTION", 1: "entailment", 2: "Neutral"}
    model.config.label2id = {name: number for number, name in model.config.id2label.items()}
    model.save_pretrained(folder)


def _cross_encoder(labels: int) -> Any:
    """Return a CrossEncoder of the first layer of the embedded encoder, with a head that knows
    nothing yet.
    """
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    return CrossEncoder(
        str(find_model("all-MiniLM-L6-v2").path),
        num_labels=labels,
        max_length=64,
        device="cpu",
        local_files_only=True,
        config_kwargs={"num_hidden_layers": 1},
    )
