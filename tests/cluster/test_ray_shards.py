"""An index whose shards answer from a Ray cluster: the same bytes as one index, also while
processes die.
"""

import ctypes
import itertools
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from factseek.cluster import layout
from factseek.cluster.actors import replicas_of, stop
from factseek.cluster.ray_cluster import connect, disconnect
from factseek.cluster.settings import ClusterSettings
from factseek.core.domain import Filter
from factseek.core.settings import Settings
from factseek.retrieval.encoders.opening import SharedEncoders
from factseek.retrieval.lucene.jvm import start
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search

from .conftest import CONFIG, on_ray, settings
from .test_sharded import answered
from .verbs import delete

pytestmark = pytest.mark.real
QUERIES = ["measles vaccine", "the ice of the sea", "rain", "meazles vacine"]
SEARCHES = [
    Search(
        k=40,
        retriever=retriever,
        where=where,
        group=group,
        stages=("per_source=2",) if group else (),
    )
    for retriever, where, group in itertools.product(
        ["bm25", "dense", "hybrid", "impact"],
        [None, Filter(as_of="2020-02-29", topic=("T0", "T1"))],
        [True, False],
    )
]
RECOVERED_SECONDS = 120.0
"""Within which a process that died must answer again; 15 are promised, of a machine that has
nothing else to do.
"""


@contextmanager
def on_cluster(folder: Path, cluster: ClusterSettings, **groups: Settings) -> Iterator[Index]:
    encoders = SharedEncoders(CONFIG.encoder)
    try:
        config = replace(on_ray(cluster), **groups)
        with Index(folder, config, encoders=encoders) as index:
            yield index
    finally:
        stop(folder, cluster)
        encoders.close()


def test_words_of_sparse_models_have_the_idf_of_all_shards(
    ray_cluster: str, folders: tuple[Path, Path]
) -> None:
    whole, sharded = folders
    idf = replace(CONFIG.impact, queries="idf")
    asked = Search(retriever="impact", k=40)
    with (
        Index(whole, replace(CONFIG, impact=idf)) as index,
        on_cluster(sharded, settings(ray_cluster), impact=idf) as remote,
    ):
        for query in QUERIES:
            assert answered(remote, query, asked) == answered(index, query, asked)
            (hits,) = index.search([query], asked)
            terms = remote.plan(asked).impact_weights(query, hits)
            assert terms == index.plan(asked).impact_weights(query, hits)


def all_answers(index: Index) -> list[bytes]:
    return [answered(index, query, asked) for query in QUERIES[::3] for asked in SEARCHES]


def test_answers_are_those_of_one_index(ray_cluster: str, folders: tuple[Path, Path]) -> None:
    whole, sharded = folders
    with Index(whole, CONFIG) as index, on_cluster(sharded, settings(ray_cluster)) as remote:
        assert all_answers(remote) == all_answers(index)
        assert sorted(each.docid for each in remote.documents()) == sorted(
            each.docid for each in index.documents()
        )
        assert sorted(remote.docids()) == sorted(index.docids())
        query, asked = index.like("d1", Search(k=5))
        assert remote.search([query], asked) == index.search([query], asked)
        assert remote.count(query, asked) == index.count(query, asked)


def test_java_keeps_its_handlers_of_faults(ray_cluster: str, folders: tuple[Path, Path]) -> None:
    """Ray sets its own: then a null pointer in compiled Java, which Java itself handles, would end
    this process.
    """

    def handler(number: int) -> bytes:
        described = ctypes.create_string_buffer(256)
        ctypes.CDLL(None).sigaction(number, None, described)
        return described.raw[:8]

    start()
    faults = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
    before = list(map(handler, faults))
    disconnect()
    assert list(map(handler, faults)) == before
    connect(ray_cluster)
    assert list(map(handler, faults)) == before


@pytest.mark.deep
def test_a_process_that_dies_is_not_missed_if_there_is_a_replica(
    ray_cluster: str, folders: tuple[Path, Path]
) -> None:
    whole, sharded = folders
    cluster = settings(ray_cluster, replicas=2)
    asked = SEARCHES[0]
    with Index(whole, CONFIG) as index, on_cluster(sharded, cluster) as remote:
        expected = answered(index, "measles vaccine", asked)
        assert answered(remote, "measles vaccine", asked) == expected
        for replica in replicas_of(sharded, cluster)[::2]:  # the first of each shard
            os.kill(replica.pid, signal.SIGKILL)
            began = monotonic()
            assert answered(remote, "measles vaccine", asked) == expected
            assert not remote.missing_since(began)
        nodes: dict[str, set[str]] = {}
        for replica in whole_again(sharded, cluster):
            nodes.setdefault(replica.shard, set()).add(replica.node)
        assert all(len(of_shard) == 2 for of_shard in nodes.values())


@pytest.mark.deep
def test_a_shard_that_is_lost_is_named_and_comes_back(
    ray_cluster: str, folders: tuple[Path, Path]
) -> None:
    whole, sharded = folders
    cluster = settings(ray_cluster, ask_seconds=10)
    asked = Search(k=100, retriever="bm25")
    with Index(whole, CONFIG) as index, on_cluster(sharded, cluster) as remote:
        expected = index.search(["measles vaccine"], asked)[0]
        assert remote.search(["measles vaccine"], asked)[0] == expected
        gone = replicas_of(sharded, cluster)[1]
        os.kill(gone.pid, signal.SIGKILL)
        began, seen = monotonic(), []
        while monotonic() - began < RECOVERED_SECONDS:
            moment = monotonic()
            hits = remote.search(["measles vaccine"], asked)[0]
            missing = list(remote.missing_since(moment))
            seen.append(missing)
            if missing:
                assert missing == ["shard-01"]
                assert hits == [hit for hit in expected if layout.owner(hit.docid, 3) != 1]
            else:
                assert hits == expected
                if gone.pid not in {replica.pid for replica in replicas_of(sharded, cluster)}:
                    break
            time.sleep(0.2)
        assert seen[-1] == []


def test_a_change_is_there_for_the_next_who_opens(
    ray_cluster: str, folders: tuple[Path, Path]
) -> None:
    whole, sharded = folders
    cluster = settings(ray_cluster)
    with on_cluster(sharded, cluster) as before:
        (first, *_) = before.search(["measles vaccine"], Search(k=3, retriever="bm25"))[0]
        for folder in folders:
            delete(folder, [first.docid])
        assert before.document(first.docid).docid == first.docid
        encoders = SharedEncoders(CONFIG.encoder)
        with (
            Index(sharded, on_ray(cluster), encoders=encoders) as after,
            Index(whole, CONFIG) as index,
        ):
            assert answered(after, "measles vaccine", SEARCHES[0]) == answered(
                index, "measles vaccine", SEARCHES[0]
            )
            assert before.search(["measles vaccine"], Search(k=3, retriever="bm25"))[0][0] == first
        encoders.close()


def whole_again(folder: Path, cluster: ClusterSettings) -> list[Any]:
    until = monotonic() + RECOVERED_SECONDS
    replicas: list[Any] = []
    while monotonic() < until:
        replicas = replicas_of(folder, cluster)
        if all(replica.alive for replica in replicas):
            return replicas
        time.sleep(0.5)
    raise AssertionError(f"not all replicas came back: {replicas}")
