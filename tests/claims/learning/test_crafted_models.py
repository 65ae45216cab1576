"""Model files that somebody made: whatever they hold, they are used or refused in one line."""

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.claims.checkworthiness import ranking
from factseek.claims.checkworthiness.members import KINDS, Model
from factseek.claims.checkworthiness.rankers import names as rankers
from factseek.claims.evidence.features import NAMES
from factseek.claims.settings import Config, VerdictSettings
from factseek.claims.verdicts import models
from factseek.claims.verdicts import training as verifying
from factseek.claims.verdicts.models import Cases
from factseek.core.domain import Statement
from factseek.core.errors import FactseekError
from factseek.core.progress import silent
from factseek.core.records import model_file
from factseek.core.records.model_file import State
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "checkworthy-en-train.tsv"
VERDICTS = verifying.VerdictManifest(
    task="fever",
    model="",
    labels=("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),
    undecided="NOT ENOUGH INFO",
    language="en",
    retriever="bm25",
    encoder="",
    index="",
    sources=(),
    settings={},
    versions={},
)


@pytest.fixture(scope="module")
def saved(train: list[Statement], config: Config) -> dict[str, tuple[msgspec.Struct, State]]:
    models_of: dict[str, tuple[msgspec.Struct, State]] = {}
    for name in rankers():
        learned = ranking.train("ct2021-1a", name, [(EXAMPLE, train)], config, silent)
        models_of[name] = learned.manifest, learned.ranker.state()
    days, signs = (KINDS[name].make([], config) for name in ("days", "signs"))
    _add(
        models_of["best"][1],
        "days",
        days.fit(np.array([1.0, np.nan, 3.0]), np.array([0, 1, 1]), np.ones(3), 2.0, 0),
    )
    labels = np.array([statement.label for statement in train])
    _add(
        models_of["best"][1],
        "signs",
        signs.fit(signs.features(train), labels, np.ones(len(train)), 1.0, 0),
    )
    drawn = np.random.default_rng(0)
    cases = Cases(
        [statement.text for statement in train], drawn.normal(size=(len(train), len(NAMES)))
    )
    for name in models.names():
        fitted = models.kind(name).fit(
            cases, np.arange(len(train)) % 3, VERDICTS.labels, VerdictSettings()
        )
        models_of[name] = msgspec.structs.replace(VERDICTS, model=name), fitted.state()
    return models_of


def _add(best: State, name: str, model: Model) -> None:
    state = model.state()
    best.settings["readers"][f"en/{name}"] = {"member": {}, "model": state.settings}
    best.settings["stacks"]["en"]["weights"][name] = 0.1
    best.tensors.update(
        {f"en/{name}/model/{tensor}": array for tensor, array in state.tensors.items()}
    )


def use(path: Path, manifest: msgspec.Struct, config: Config) -> None:
    texts = ["The vaccine is 97 % safe!", "", "http://example.org \ud83d\ude00 לא"]
    if isinstance(manifest, verifying.VerdictManifest):
        model = verifying.load(path, config, "fever").model
        probabilities = model.probabilities(Cases(texts, np.ones((3, len(NAMES)))))
        assert probabilities.shape == (3, 3)
    else:
        ranker = ranking.load(path, "ct2021-1a", config).ranker
        statements = [
            Statement(str(10**17 + at), text, language="en") for at, text in enumerate(texts)
        ]
        assert ranker.score(statements).shape == (3,)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside of one, a few of each list."""
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(min(3, len(value)))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        yield (*above, key)
        yield from places(value[key], (*above, key))


ODD = st.sampled_from(
    [None, True, -1, 0, 10**9, 2**62, 1e308, -1e308, "", "x", [], [1], ["x", "x"], {}, {"x": None}]
)


def spoil_settings(data: st.DataObject, settings_of: dict[str, Any]) -> None:
    way = data.draw(st.sampled_from(list(places(settings_of))))
    above = settings_of
    for key in way[:-1]:
        above = above[key]
    if data.draw(st.booleans()):
        above[way[-1]] = copy.deepcopy(data.draw(ODD))
    else:
        del above[way[-1]]


def _extremes(dtype: np.dtype[Any]) -> list[float]:
    if dtype.kind == "f":
        return [-1, 0, 1, 2, np.nan, np.inf, float(np.finfo(dtype).max)]
    return (
        [-1, 0, 1, 2, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
        if dtype.kind == "i"
        else [0, 1]
    )


def spoil_array(data: st.DataObject, tensors: dict[str, Any]) -> None:
    name = data.draw(st.sampled_from(sorted(tensors)))
    array = tensors[name].copy()
    how = data.draw(
        st.sampled_from(
            ["value", "all", "cut", "empty", "turn", "flat", "deep", "type", "gone", "double"]
        )
    )
    extreme = data.draw(st.sampled_from(_extremes(array.dtype)))
    if how == "value" and array.size:
        array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = extreme
    elif how == "all":
        array[...] = extreme
    elif how == "type":
        array = array.astype(
            data.draw(st.sampled_from(["<i8", "<i1", "<f4", "<f2", "?"])), copy=False
        )
    tensors[name] = {
        "cut": array[: len(array) // 2],
        "empty": array[:0],
        "turn": np.ascontiguousarray(array[::-1]),
        "flat": array.reshape(-1),
        "deep": array[None],
        "double": np.concatenate([array, array]),
    }.get(how, array)
    if how == "gone":
        del tensors[name]


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.parametrize("name", [*rankers(), *models.names()])
@given(data=st.data())
def test_whatever_a_model_file_holds_it_is_used_or_refused(
    saved: dict[str, tuple[msgspec.Struct, State]],
    config: Config,
    tmp_path: Path,
    name: str,
    data: st.DataObject,
) -> None:
    manifest, state = saved[name]
    crafted = State(copy.deepcopy(state.settings), dict(state.tensors))
    for _ in range(data.draw(st.integers(1, 3))):
        if crafted.settings and (not crafted.tensors or data.draw(st.booleans())):
            spoil_settings(data, crafted.settings)
        elif crafted.tensors:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                spoil_array(data, crafted.tensors)
    model_file.save(tmp_path / "m", manifest, crafted)
    with warnings.catch_warnings():
        # Huge weights may overflow, and then say so.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            use(tmp_path / "m", manifest, config)
        except FactseekError as refused:
            assert refused.line.count("\n") == 0


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_header_holds_it_is_used_or_refused(
    saved: dict[str, tuple[msgspec.Struct, State]],
    config: Config,
    tmp_path: Path,
    data: st.DataObject,
) -> None:
    from safetensors.numpy import save

    manifest, state = saved["ngram"]
    model_file.save(tmp_path / "m", manifest, state)
    raw, tensors = model_file._read(tmp_path / "m")
    header = msgspec.json.decode(raw)
    spoil_settings(data, header)
    if isinstance(header.get("manifest"), dict) and isinstance(header.get("state"), dict):
        header["checksum"] = model_file._checksum(header["manifest"], header["state"], tensors)
    (tmp_path / "m").write_bytes(
        save(tensors, metadata={"factseek": msgspec.json.encode(header).decode()})
    )
    try:
        use(tmp_path / "m", manifest, config)
    except FactseekError as refused:
        assert refused.line.count("\n") == 0
