"""factseek finds the evidence for a claim: open or build an index, search it, make runs, and score them.

Importing this package imports no other module. Each name below is imported at its first use.
"""

__version__ = "0.3.0"

TYPE_CHECKING = False
"""Type checkers take this as true. Importing the constant from ``typing`` would load a dozen other modules."""

if TYPE_CHECKING:
    from .api import (
        build,
        compare,
        evaluate,
        open_index,
        read_qrels,
        read_queries,
        read_run,
        run,
        write_run,
    )
    from .claims.settings import ClaimsSettings, VerdictSettings
    from .cluster.settings import ClusterSettings
    from .eval.run.compare import Comparison
    from .eval.scoring.measures import Figures
    from .indexer.build import BuildReport
    from .indexer.settings import BuildSettings, PassageSettings, WatchSettings
    from .retrieval.config import (
        BM25Settings,
        CrossEncoderSettings,
        DenseSettings,
        EncoderSettings,
        FusionSettings,
        IndexSettings,
        JavaSettings,
        SearchSettings,
    )
    from .retrieval.domain import Document, Filter, Hit, Passage, Qrels, Query, Run
    from .retrieval.errors import (
        CheckFailed,
        ConfigError,
        FactseekError,
        IndexStateError,
        MachineError,
        NotFoundError,
        QueryError,
        SourceError,
        UserError,
    )
    from .retrieval.retrievers.bm25_rm3 import RM3Settings
    from .retrieval.search.evidence import Evidence
    from .retrieval.search.federated import search_many
    from .retrieval.search.index import Index as Searcher
    from .retrieval.search.listings import list_hits
    from .retrieval.search.options import Search
    from .retrieval.search.query_syntax import parse_query
    from .retrieval.stages.combine import CombineSettings
    from .retrieval.stages.rerank import RerankSettings
    from .server.settings import ServerSettings
    from .settings import Config
    from .settings import load as read_config

__all__ = [
    "BM25Settings",
    "BuildReport",
    "BuildSettings",
    "CheckFailed",
    "ClaimsSettings",
    "ClusterSettings",
    "CombineSettings",
    "Comparison",
    "Config",
    "ConfigError",
    "CrossEncoderSettings",
    "DenseSettings",
    "Document",
    "EncoderSettings",
    "Evidence",
    "FactseekError",
    "Figures",
    "Filter",
    "FusionSettings",
    "Hit",
    "IndexSettings",
    "IndexStateError",
    "JavaSettings",
    "MachineError",
    "NotFoundError",
    "Passage",
    "PassageSettings",
    "Qrels",
    "Query",
    "QueryError",
    "RM3Settings",
    "RerankSettings",
    "Run",
    "Search",
    "SearchSettings",
    "Searcher",
    "ServerSettings",
    "SourceError",
    "UserError",
    "VerdictSettings",
    "WatchSettings",
    "__version__",
    "build",
    "compare",
    "evaluate",
    "list_hits",
    "open_index",
    "parse_query",
    "read_config",
    "read_qrels",
    "read_queries",
    "read_run",
    "run",
    "search_many",
    "write_run",
]

_HOMES = {
    "api": "build compare evaluate open_index read_qrels read_queries read_run run write_run",
    "eval.run.compare": "Comparison",
    "eval.scoring.measures": "Figures",
    "indexer.build": "BuildReport",
    "retrieval.domain": "Document Filter Hit Passage Qrels Query Run",
    "retrieval.errors": "CheckFailed ConfigError FactseekError IndexStateError MachineError NotFoundError QueryError "
    "SourceError UserError",
    "retrieval.search.evidence": "Evidence",
    "retrieval.search.index": "Searcher=Index",
    "retrieval.search.listings": "list_hits",
    "retrieval.search.federated": "search_many",
    "retrieval.search.query_syntax": "parse_query",
    "retrieval.search.options": "Search",
    "settings": "Config read_config=load",
    "claims.settings": "ClaimsSettings VerdictSettings",
    "cluster.settings": "ClusterSettings",
    "indexer.settings": "BuildSettings PassageSettings WatchSettings",
    "retrieval.config": "BM25Settings CrossEncoderSettings DenseSettings EncoderSettings FusionSettings IndexSettings "
    "JavaSettings SearchSettings",
    "retrieval.retrievers.bm25_rm3": "RM3Settings",
    "retrieval.stages.combine": "CombineSettings",
    "retrieval.stages.rerank": "RerankSettings",
    "server.settings": "ServerSettings",
}
"""The public names that each module provides; ``public=own`` is the module's ``own`` under the name ``public``."""


if not TYPE_CHECKING:  # otherwise a type checker would accept any name of this module

    def __getattr__(name: str) -> object:
        """Return a name of the API after importing its module (PEP 562)."""
        from importlib import import_module

        for module, names in _HOMES.items():
            for public, _, own in (entry.partition("=") for entry in names.split()):
                if public == name:
                    value: object = getattr(import_module(f"{__name__}.{module}"), own or public)
                    globals()[name] = value
                    return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """List the names of the API."""
        return sorted({*globals(), *__all__})
