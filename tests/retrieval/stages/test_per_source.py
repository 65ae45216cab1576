"""At most so many hits of a source, whatever the sources and the order."""

from hypothesis import given
from hypothesis import strategies as st

from factseek.core.domain import Hit, Part
from factseek.retrieval.config import Config
from factseek.retrieval.stages import StageContext, per_source

SOURCES = st.lists(st.sampled_from(["", "a.example", "b.example", "c.example"]), max_size=40)


@given(sources=SOURCES, most=st.integers(1, 4))
def test_at_most_so_many_hits_of_a_source(sources: list[str], most: int) -> None:
    hits = [Hit(str(at), float(len(sources) - at)) for at in range(len(sources))]

    class Documents:
        def document_values(self, places, field):
            assert field == "source"
            return [sources[int(docid)] for docid, _ in places]

    stage = per_source.open(str(most), StageContext(Config(), Documents()))
    (kept,) = stage.apply(["q"], [hits], None, None)
    docids = [hit.docid for hit in kept]
    assert docids == sorted(docids, key=int)
    for source in ("a.example", "b.example", "c.example"):
        of_source = [str(at) for at, name in enumerate(sources) if name == source]
        assert [docid for docid in docids if docid in of_source] == of_source[:most]
    assert [docid for docid in docids if not sources[int(docid)]] == [
        str(i) for i, s in enumerate(sources) if not s
    ]
    assert all(hit.parts[-1] == Part("per_source", int(hit.docid) + 1, hit.score) for hit in kept)
