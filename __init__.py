"""factseek finds the evidence for a claim: open or build an index, search it, make runs, and score
them.

Importing this package imports no other module. Each name below is imported at its first use.
"""

__version__ = "0.3.0"

TYPE_CHECKING = False
"""Type checkers take this as true.

Importing the constant from ``typing`` would load a dozen other modules.
"""

if TYPE_CHECKING:
    __all__: list[str]
    from .api import bench as bench
    from .api import build as build
    from .api import check as check
    from .api import compare as compare
    from .api import evaluate as evaluate
    from .api import open_index as open_index
    from .api import rank_claims as rank_claims
    from .api import read_qrels as read_qrels
    from .api import read_queries as read_queries
    from .api import read_run as read_run
    from .api import run as run
    from .api import score as score
    from .api import train_combiner as train_combiner
    from .api import train_encoder as train_encoder
    from .api import train_reranker as train_reranker
    from .api import tune as tune
    from .api import write_run as write_run
    from .claims.checkworthiness.ranking import RankedClaims as RankedClaims
    from .claims.settings import ClaimsSettings as ClaimsSettings
    from .claims.settings import VerdictSettings as VerdictSettings
    from .cluster.settings import ClusterSettings as ClusterSettings
    from .core.domain import Document as Document
    from .core.domain import Filter as Filter
    from .core.domain import Hit as Hit
    from .core.domain import Passage as Passage
    from .core.domain import Qrels as Qrels
    from .core.domain import Query as Query
    from .core.domain import Run as Run
    from .core.errors import CheckFailed as CheckFailed
    from .core.errors import ConfigError as ConfigError
    from .core.errors import FactseekError as FactseekError
    from .core.errors import IndexStateError as IndexStateError
    from .core.errors import MachineError as MachineError
    from .core.errors import NotFoundError as NotFoundError
    from .core.errors import QueryError as QueryError
    from .core.errors import SourceError as SourceError
    from .core.errors import UserError as UserError
    from .eval.bench.bench import Bench as Bench
    from .eval.files.answers import Scores as Scores
    from .eval.files.report import CheckReport as CheckReport
    from .eval.learn.combiner import TrainedCombiner as TrainedCombiner
    from .eval.learn.training import TrainedModel as TrainedModel
    from .eval.learn.tune import Tuning as Tuning
    from .eval.run.compare import Comparison as Comparison
    from .eval.scoring.measures import Figures as Figures
    from .indexer.build import BuildReport as BuildReport
    from .indexer.settings import BuildSettings as BuildSettings
    from .indexer.settings import PassageSettings as PassageSettings
    from .indexer.settings import WatchSettings as WatchSettings
    from .retrieval.config import BM25Settings as BM25Settings
    from .retrieval.config import CrossEncoderSettings as CrossEncoderSettings
    from .retrieval.config import DenseSettings as DenseSettings
    from .retrieval.config import EncoderSettings as EncoderSettings
    from .retrieval.config import FusionSettings as FusionSettings
    from .retrieval.config import IndexSettings as IndexSettings
    from .retrieval.config import JavaSettings as JavaSettings
    from .retrieval.config import SearchSettings as SearchSettings
    from .retrieval.retrievers.bm25_rm3 import RM3Settings as RM3Settings
    from .retrieval.search.evidence import Evidence as Evidence
    from .retrieval.search.federated import search_many as search_many
    from .retrieval.search.index import Searcher as Searcher
    from .retrieval.search.listings import list_hits as list_hits
    from .retrieval.search.options import Search as Search
    from .retrieval.search.query_syntax import parse_query as parse_query
    from .retrieval.stages.combine import CombineSettings as CombineSettings
    from .retrieval.stages.rerank import RerankSettings as RerankSettings
    from .server.settings import ServerSettings as ServerSettings
    from .settings import Config as Config
    from .settings import read_config as read_config

_HOMES = {
    "api": "bench build check compare evaluate open_index rank_claims read_qrels read_queries "
    "read_run run score train_combiner train_encoder train_reranker tune write_run",
    "claims.checkworthiness.ranking": "RankedClaims",
    "eval.bench.bench": "Bench",
    "eval.files.answers": "Scores",
    "eval.files.report": "CheckReport",
    "eval.learn.combiner": "TrainedCombiner",
    "eval.learn.training": "TrainedModel",
    "eval.learn.tune": "Tuning",
    "eval.run.compare": "Comparison",
    "eval.scoring.measures": "Figures",
    "indexer.build": "BuildReport",
    "core.domain": "Document Filter Hit Passage Qrels Query Run",
    "core.errors": "CheckFailed ConfigError FactseekError IndexStateError MachineError "
    "NotFoundError QueryError "
    "SourceError UserError",
    "retrieval.search.evidence": "Evidence",
    "retrieval.search.index": "Searcher",
    "retrieval.search.listings": "list_hits",
    "retrieval.search.federated": "search_many",
    "retrieval.search.query_syntax": "parse_query",
    "retrieval.search.options": "Search",
    "settings": "Config read_config",
    "claims.settings": "ClaimsSettings VerdictSettings",
    "cluster.settings": "ClusterSettings",
    "indexer.settings": "BuildSettings PassageSettings WatchSettings",
    "retrieval.config": "BM25Settings CrossEncoderSettings DenseSettings EncoderSettings "
    "FusionSettings IndexSettings "
    "JavaSettings SearchSettings",
    "retrieval.retrievers.bm25_rm3": "RM3Settings",
    "retrieval.stages.combine": "CombineSettings",
    "retrieval.stages.rerank": "RerankSettings",
    "server.settings": "ServerSettings",
}
"""The public names that each module provides."""


if not TYPE_CHECKING:  # otherwise a type checker would accept any name of this module
    __all__ = sorted(["__version__", *" ".join(_HOMES.values()).split()])  # noqa: PLE0605

    def __getattr__(name: str) -> object:
        """Return a name of the API after importing its module (PEP 562)."""
        from importlib import import_module

        for module, names in _HOMES.items():
            if name in names.split():
                value: object = getattr(import_module(f"{__name__}.{module}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """List the names of the API."""
        return sorted({*globals(), *__all__})
