"""The file of a sharded index: read as it is written, refused in one line when somebody else
spoiled it.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from factseek.cluster import layout
from factseek.core.errors import IndexStateError
from tests.retrieval.test_manifest import MANIFEST, OUTSIDE, SEGMENT

SHARDS: dict[str, Any] = {
    "layout": 1,
    "created": "2026-01-01T00:00:00Z",
    "routing": "blake2b:2",
    "shards": [
        {"path": "shard-00", "manifest": MANIFEST},
        {"path": "/mnt/b/shard-01", "manifest": {**MANIFEST, "documents": 3, "passages": 5}},
    ],
}
ENCODER = {**MANIFEST["views"], "vectors": {**MANIFEST["views"]["vectors"], "revision": "2"}}


def read(folder: Path, change: Callable[[Any], object] = lambda raw: None) -> layout.Shards:
    raw = copy.deepcopy(SHARDS)
    change(raw)
    (folder / "shards.json").write_bytes(msgspec.json.encode(raw))
    return layout.read(folder)


def of(number: int, **values: Any) -> Callable[[Any], object]:
    return lambda raw: raw["shards"][number].update(values)


def manifest(**values: Any) -> Callable[[Any], object]:
    return lambda raw: raw["shards"][1]["manifest"].update(values)


SPOILED: dict[str, tuple[Callable[[Any], object], str]] = {
    "twice": (of(1, path="shard-00"), "shard shard-00 is listed twice"),
    "routing": (lambda raw: raw.update(routing="blake2b:3"), "its routing is 'blake2b:3'"),
    "layout": (lambda raw: raw.update(layout=9), "has layout 9, but this factseek reads layout 1"),
    "language": (
        manifest(language="de"),
        "shard /mnt/b/shard-01 has the language de, but shard shard-00 has en",
    ),
    "encoder": (
        manifest(views=ENCODER),
        "has the encoder e (fp32, revision 2), but shard shard-00 has e (fp32, revision 1)",
    ),
    "views": (
        manifest(views={"lucene": {"phrases": True}} | {"vectors": MANIFEST["views"]["vectors"]}),
        "the views",
    ),
    "segment": (
        manifest(segments=[{**SEGMENT, "name": "1" * 15}]),
        "a name of more than 14 digits",
    ),
    "no shards": (lambda raw: raw.pop("shards"), "does not describe a sharded index"),
}


@pytest.mark.parametrize("fault", SPOILED)
def test_a_spoiled_description_is_refused_in_one_line(tmp_path: Path, fault: str) -> None:
    change, message = SPOILED[fault]
    with pytest.raises(IndexStateError) as caught:
        read(tmp_path, change)
    assert message in caught.value.line
    assert str(tmp_path / "shards.json") in caught.value.line


@pytest.mark.parametrize("path", sorted(set(OUTSIDE) - {"/etc/passwd"}))
def test_a_path_that_is_none_of_factseeks_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(IndexStateError, match="not a path of a folder"):
        read(tmp_path, of(1, path=path))


def test_a_docid_is_routed_as_it_always_was() -> None:
    docids = ["", "a", "MED-10", "\ud800", "ا"]
    assert [layout.owner(docid, 3) for docid in docids] == [0, 2, 1, 2, 0]
    assert {layout.owner(str(number), 7) for number in range(100)} == set(range(7))
