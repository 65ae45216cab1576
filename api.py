"""The functions of the public Python API: open, build, run, evaluate, compare, learn.

They work on the same objects as the command line and the server: an index, hits, runs, judgements.
Import them with ``from factseek import …``; this module itself may move.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .core.domain import Filter, Qrels, Query, Run
from .core.errors import ConfigError, QueryError, UsageError
from .core.records.lines import quote_value
from .integrations._arguments import (
    check_choice,
    check_index,
    names,
    path_of,
    paths_of,
    shown,
    whole_number,
)
from .settings import Config

if TYPE_CHECKING:
    from .claims.checkworthiness.ranking import RankedClaims
    from .core.text import ProfileName
    from .eval.bench.bench import Bench
    from .eval.files.answers import Scores
    from .eval.files.report import CheckReport
    from .eval.learn.combiner import TrainedCombiner
    from .eval.learn.trainer import ModelTraining
    from .eval.learn.training import TrainedModel
    from .eval.learn.tune import Tuning
    from .eval.run.batch import Judged
    from .eval.run.compare import Comparison, CorrectOver
    from .eval.scoring.measures import Figures
    from .eval.scoring.statistics import Correction
    from .indexer.build import BuildReport, Verb
    from .indexer.given_vectors import VectorsByPassage
    from .integrations._python_data import Documents, Judgements, Queries, Statements
    from .retrieval.search.index import Index
    from .retrieval.search.options import Search


def open_index(folder: str | Path, config: Config | None = None) -> Index:
    """Open the index in ``folder`` for reading.

    The index is a context manager, and threads may share it.

    Without ``config`` every setting has its default; :func:`read_config` reads a file of settings.

    Raises IndexStateError if there is no index, or if the index is incomplete, damaged, or of a
    layout that this version cannot read. Raises ConfigError if a setting of ``config`` is invalid.
    """
    from .retrieval.search.index import open_index as opened

    return opened(path_of("folder", folder), _checked(config) if config is not None else None)


def build(
    kind: str,
    sources: Sequence[str | Path] | Documents,
    folder: str | Path,
    *,
    verb: Verb = "",
    language: str = "",
    dense: bool = True,
    encoder: str = "",
    encoders: Sequence[str] = (),
    views: Sequence[str] = (),
    shards: int | None = None,
    vectors: str | Path | VectorsByPassage | None = None,
    vector_ids: str | Path | None = None,
    config: Config | None = None,
) -> BuildReport:
    """Index ``sources`` into ``folder`` and return a report of the build.

    The same call continues an interrupted build.

    ``kind`` is the kind of the sources, as for ``factseek index`` (``snippets``, ``webpages``,
    ``beir``, …). It may also be ``irds:NAME``, a dataset of ir_datasets, which needs no
    ``sources``. In place of files, ``sources`` may be documents in memory: an iterable of
    ``Document`` or of mappings, or a DataFrame, for each kind that reads JSON lines with these
    fields. ``verb`` says what to do with an existing index: ``append``, ``update`` or
    ``overwrite``. ``language`` is an ISO 639-1 code and chooses the analyzer. Without ``dense`` the
    index has no vectors. ``encoder`` names the model of the vectors, by default that of
    ``config``; ``encoders`` names several, each for vectors of its own. ``views`` names additional
    parts of the index.
    ``shards`` is the number of shards of a new index. ``vectors`` brings the vectors of the
    passages, so that nothing is encoded: a file (``.npy`` with ``vector_ids``, Parquet or JSON
    Lines), or a mapping from a docid, or from a docid and the number of a passage, to a vector.

    Raises SourceError if a source cannot be read. Raises IndexStateError if there is an index and
    ``verb`` is missing, or if the request does not fit the index. Raises MachineError if the disk
    is full, or Java or the encoder is missing. Raises UsageError if ``verb`` is unknown, ``shards``
    is out of range, or ``encoders`` are given without ``dense``. Raises ConfigError if a setting of
    ``config`` is invalid, or a prompt in it belongs to another model.
    """
    from .cluster.layout import is_sharded
    from .indexer.build import BuildRequest
    from .indexer.build import build as build_index
    from .indexer.given_vectors import read_given_vectors
    from .integrations._python_data import as_sources
    from .integrations._stand_ins import stand_ins

    if verb not in ("", "append", "update", "overwrite"):
        raise UsageError(f"unknown verb {shown(verb)}", remedy="give append, update or overwrite")
    for name, value in {"kind": kind, "encoder": encoder, "language": language}.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} is {shown(value)}, not a text")
    config = _checked(config)
    views, encoders = names("views", views), names("encoders", encoders)
    if not isinstance(vectors, str | Path | Mapping | None):
        raise UsageError(
            f"vectors are {shown(vectors)}", remedy="give a file, or a mapping from docid to vector"
        )
    if encoder and encoders:
        raise UsageError("encoder and encoders are both given", remedy="leave out one of them")
    models = (encoder,) if encoder else tuple(encoders)
    if models and not dense:
        raise UsageError("encoders are given, but dense is False", remedy="leave out one of them")
    args = Namespace(kind=kind, sources=[], language=language)
    with as_sources(sources) as args.sources, stand_ins(args):
        request = BuildRequest(
            kind=args.kind,
            sources=tuple(map(Path, args.sources)),
            folder=path_of("folder", folder),
            verb=verb,
            language=args.language,
            dense=dense,
            encoders=models,
            views=tuple(views),
            vectors=read_given_vectors(
                Path(vectors) if isinstance(vectors, str) else vectors,
                Path(vector_ids) if vector_ids is not None else None,
                Path(folder),
                config.encoder,
            ),
        )
        if shards is not None or is_sharded(request.folder):
            from .cluster.build import build_shards, check_number

            if shards is not None:
                check_number("shards", whole_number("shards", shards, 0))
            return build_shards(request, shards or 0, config)
        return build_index(request, config)


def run(
    index: Index,
    queries: Queries,
    search: Search | None = None,
    *,
    retriever: str | None = None,
    k: int | None = None,
    where: Filter | None = None,
    profile: ProfileName | None = None,
    query_vectors: Mapping[str, Sequence[float]] | None = None,
) -> Run:
    """Search for every query; return the hits of each qid, best first, in the order of ``queries``.

    ``queries`` are ``Query`` objects, pairs of qid and text, a mapping from qid to text, queries of
    ir_datasets, or a DataFrame with the columns ``qid`` and ``text``. ``search`` says how to
    search, as in ``index.search``. The keywords are short forms of the most
    common options; a keyword overrides the option in ``search``. ``k`` is the maximum number of
    hits of a query, 1,000 by default. ``query_vectors`` has the vector of each qid, so that nothing
    is encoded. A query without words has no hits. The run does not depend on
    the batches, the threads or the hash seed.

    Raises QueryError if two queries have the same qid, a query is too long, ``k`` is out of range,
    or the index lacks something that the retriever needs.
    """
    from .eval.files.answers import TaskQuery
    from .eval.run.batch import filtered_queries, search_all, search_of, with_vectors
    from .eval.tasks import RANKING
    from .integrations._python_data import as_queries
    from .retrieval.search.options import DEFAULT_SEARCH, Search

    check_index(index)
    if not isinstance(search, Search | None):
        raise QueryError(f"search is {shown(search)}", remedy="give factseek.Search(k=…)")
    searched = as_queries(queries)
    task = RANKING.default()  # accepts any queries and up to ``search.max_k`` hits for each
    short: dict[str, Any] = {"retriever": retriever, "k": k, "where": where, "profile": profile}
    chosen = {name: choice for name, choice in short.items() if choice is not None}
    asked = search_of(task, replace(search or DEFAULT_SEARCH, **chosen))
    if query_vectors is not None:
        asked = replace(asked, retriever=index.retriever_for_vectors(asked.retriever))
    task_queries = [TaskQuery(query.qid, query.text) for query in searched]
    filtered = filtered_queries(task, task_queries, asked, index.settings.search.max_query_chars)
    if query_vectors is not None:
        filtered = with_vectors(filtered, query_vectors, "query_vectors", index, asked)
    return {
        done.qid: done.ranking for chunk in search_all(index, filtered, asked) for done in chunk
    }


def evaluate(run: Run, qrels: Judgements, measures: Sequence[str]) -> Figures:
    """Return the value of each measure for each judged query.

    The code of trec_eval orders the hits and computes the measures.

    ``qrels`` map a qid to docids and their relevance; those of ir_datasets and ranx, and a
    DataFrame, are taken as they are.
    ``measures`` are names of ir-measures (``nDCG@10``, ``AP(rel=2)``) or of trec_eval
    (``ndcg_cut_10``); the figures use the names of ir-measures. ``figures.means()`` maps each
    measure to its mean. ``figures.per_query()`` maps each qid to a mapping from measure to value.
    ``figures.values`` is float64 of shape (queries, measures). If the run lacks a judged query, the
    query has the value 0 in each measure. Queries without judgements are left out.

    Raises QueryError if a measure is unknown, ``measures`` or ``qrels`` are empty, or something is
    not a hit or not a judgement. Raises CheckFailed if the run has no query in common with
    ``qrels``.
    """
    from .eval.scoring.measures import evaluate as evaluate_scores
    from .eval.scoring.measures import parse_measures
    from .eval.scoring.ranking import common
    from .integrations._python_data import as_qrels, as_scores

    chosen = parse_measures(",".join(names("measures", measures)))
    judged, scores = as_qrels(qrels), as_scores(run)
    if scores:
        common("run", judged, scores, "query")
    return evaluate_scores(judged, scores, chosen)


def compare(
    runs: Mapping[str, Run],
    qrels: Judgements,
    measures: Sequence[str],
    *,
    seed: int = 0,
    baseline: str = "",
    correction: Correction = "holm",
    correct_over: CorrectOver = "measure",
) -> Comparison:
    """Compare named runs: means with confidence intervals, and tests of every pair, corrected for
    the number of tests.

    With a ``baseline``, the name of a run, every other run is tested against it alone. The tests of
    a measure are corrected together, or those of all measures (``correct_over="all"``).

    ``comparison.means`` maps each measure to a mapping from run to interval. ``comparison.pairs``
    tests the second run of each pair against the first. ``comparison.as_json()`` is what ``factseek
    compare --json`` prints. The same ``seed`` gives the same figures.

    Raises QueryError if there are fewer than two runs, a measure is unknown, ``qrels`` is empty, or
    an option is out of range; CheckFailed if a run has no query in common with ``qrels``.
    """
    from .eval.run import compare as judging
    from .eval.scoring.measures import note_on_programs, parse_measures
    from .eval.scoring.ranking import compare_queries
    from .eval.scoring.statistics import CORRECTIONS
    from .integrations._python_data import as_qrels, as_scores

    chosen = parse_measures(",".join(names("measures", measures)))
    if not isinstance(runs, Mapping) or not all(isinstance(name, str) for name in runs):
        raise QueryError(f"runs are {shown(runs)}", remedy="give a mapping from name to run")
    if len(runs) < 2:
        raise QueryError("there is nothing to compare", remedy="give two runs or more")
    seed = whole_number("seed", seed, 0)
    check_choice("correction", correction, CORRECTIONS)
    check_choice("correct_over", correct_over, ("measure", "all"))
    judged = as_qrels(qrels)
    scores = {name: as_scores(run, f"run {quote_value(name)}") for name, run in runs.items()}
    on_runs = (
        f"{name}: {note}"
        for name, run in scores.items()
        for note in compare_queries(name, judged, run, "query")
    )
    return judging.compare(
        judged,
        scores,
        chosen,
        seed=seed,
        baseline=baseline,
        correction=correction,
        correct_over=correct_over,
        notes=(*on_runs, *note_on_programs(chosen)),
    )


def tune(
    index: Index,
    queries: Queries,
    qrels: Judgements,
    measure: str = "nDCG@10",
    *,
    folds: int = 5,
    sample: int | None = None,
    seed: int = 0,
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
) -> Tuning:
    """Choose the fusion and the settings of BM25 on judged queries, by cross-validation.

    ``tuning.chosen`` keeps the default unless the best setting is significantly better. It is what
    ``factseek tune`` writes to a configuration. The same ``seed`` gives the same result.

    ``sample`` is the largest number of judged queries to tune on, all by default. ``profile`` says
    how queries are prepared. With ``ignore_identical_ids``, a search leaves out the document that
    has the query's own id.

    Raises QueryError if there are fewer judged queries than folds, no judged document is in the
    index, or ``measure`` is not one measure.
    """
    from .eval.learn import tune as tuning

    name = _one_measure(measure)
    seed = whole_number("seed", seed, 0)
    if sample is not None:
        sample = whole_number("sample", sample, 2)
    judged = _judged(
        index,
        queries,
        qrels,
        profile=profile,
        ignore_identical_ids=ignore_identical_ids,
        sample=sample,
        seed=seed,
    )
    return tuning.tune(index, judged, name, folds=_folds(folds, judged), seed=seed)


def train_combiner(
    index: Index,
    queries: Queries,
    qrels: Judgements,
    output: str | Path,
    measure: str = "nDCG@10",
    *,
    folds: int = 5,
    remember: bool = False,
    sample: int = 2000,
    seed: int = 0,
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
) -> TrainedCombiner:
    """Learn to combine the rankings of a search, and write the combination to the file ``output``.

    Set ``combine.model`` to this file, and the stage ``combine`` runs it. The figures are
    cross-validated. With ``remember``, the combination also learns to which judged queries each
    document was relevant. ``sample`` is the largest number of judged queries to learn from. The
    same ``seed`` gives the same file.

    Raises QueryError if there are fewer judged queries than folds, no judged document is in the
    index, nothing can be learned, or ``output`` cannot be written. Raises MachineError without
    LightGBM.
    """
    from .core.files import writable
    from .eval.learn import combiner
    from .eval.learn.sources import sources_in_memory
    from .retrieval.search.combiner import save

    name = _one_measure(measure)
    seed = whole_number("seed", seed, 0)
    sample = whole_number("sample", sample, 2)
    target = path_of("output", output)
    writable(target, [])
    judged = _judged(
        index,
        queries,
        qrels,
        profile=profile,
        ignore_identical_ids=ignore_identical_ids,
        sample=sample,
        seed=seed,
    )
    request = combiner.CombinerRequest(
        sources=sources_in_memory(judged),
        measure=name,
        folds=_folds(folds, judged),
        seed=seed,
        remembers=remember,
    )
    trained = combiner.train(index, judged, request)
    save(target, trained.combiner)
    return trained


def train_encoder(
    index: Index,
    queries: Queries | None,
    qrels: Judgements | None,
    output: str | Path,
    measure: str = "nDCG@10",
    *,
    base: str = "",
    teacher: str = "",
    epochs: int = 3,
    batch: int = 16,
    rate: float = 2e-5,
    negatives: int = 4,
    depth: int = 50,
    max_tokens: int = 192,
    looks: int = 2,
    sample: int = 20_000,
    seed: int = 0,
    from_documents: bool = False,
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
) -> TrainedModel:
    """Train the encoder of an index further on judged queries, and write it to the new folder
    ``output``.

    The options are those of ``factseek train encoder``. ``base`` is the model to train further, by
    default the index's encoder. With ``from_documents``, the model learns from titles and
    sentences of the documents; ``queries`` and ``qrels`` are then None. The same call continues an
    interrupted training.

    Raises QueryError if ``output`` exists, an option is out of range, there are fewer than ten
    judged queries, or there are no negatives. Raises MachineError if the packages for training or
    the base are not on this machine.
    """
    from .eval.learn.trainer import ModelTraining

    settings = ModelTraining(
        base=base,
        teacher=teacher,
        epochs=epochs,
        batch=batch,
        rate=rate,
        negatives=negatives,
        depth=depth,
        max_tokens=max_tokens,
        looks=looks,
        measure=str(measure),
        seed=seed,
    )
    return _train_model(
        "encoder",
        index,
        path_of("output", output),
        queries=queries,
        qrels=qrels,
        settings=settings,
        sample=sample,
        from_documents=from_documents,
        profile=profile,
        ignore_identical_ids=ignore_identical_ids,
    )


def train_reranker(
    index: Index,
    queries: Queries | None,
    qrels: Judgements | None,
    output: str | Path,
    measure: str = "nDCG@10",
    *,
    base: str = "",
    epochs: int = 3,
    batch: int = 16,
    rate: float = 2e-5,
    negatives: int = 4,
    depth: int = 50,
    max_tokens: int = 192,
    looks: int = 2,
    sample: int = 20_000,
    seed: int = 0,
    from_documents: bool = False,
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
) -> TrainedModel:
    """Train a re-ranker on judged queries, and write it to the new folder ``output``.

    The options are those of ``factseek train reranker``; see :func:`train_encoder`. Set
    ``rerank.model`` to the folder, and the settings in ``trained.beside`` with it.

    Raises QueryError if ``output`` exists, an option is out of range, there are fewer than ten
    judged queries, or there are no negatives. Raises MachineError if the packages for training or
    the base are not on this machine.
    """
    from .eval.learn.trainer import ModelTraining

    settings = ModelTraining(
        base=base,
        epochs=epochs,
        batch=batch,
        rate=rate,
        negatives=negatives,
        depth=depth,
        max_tokens=max_tokens,
        looks=looks,
        measure=str(measure),
        seed=seed,
    )
    return _train_model(
        "reranker",
        index,
        path_of("output", output),
        queries=queries,
        qrels=qrels,
        settings=settings,
        sample=sample,
        from_documents=from_documents,
        profile=profile,
        ignore_identical_ids=ignore_identical_ids,
    )


def _train_model(
    what: str,
    index: Index,
    output: Path,
    *,
    queries: Queries | None,
    qrels: Judgements | None,
    settings: ModelTraining,
    sample: int,
    from_documents: bool,
    profile: ProfileName | None,
    ignore_identical_ids: bool,
) -> TrainedModel:
    """Train a model on judged queries, or on queries made of documents; check the options first."""
    from .eval.learn import training
    from .eval.learn.examples import of_documents
    from .eval.learn.sources import sources_in_memory
    from .eval.learn.trainer import TrainingRequest, check_settings

    for name in ("epochs", "batch", "negatives", "depth", "max_tokens", "looks", "seed"):
        whole_number(name, getattr(settings, name), 0)
    if not isinstance(settings.rate, int | float):
        raise QueryError(f"rate is {shown(settings.rate)}, not a number")
    check_settings(settings, whole_number("sample", sample, 0))
    check_index(index)
    training.check_target(output)
    if from_documents:
        if queries is not None or qrels is not None:
            raise QueryError(
                "from_documents learns without judgements", remedy="give None as queries and qrels"
            )
        judged = of_documents(index, sample, settings.seed)
    elif queries is None or qrels is None:
        raise QueryError("queries or qrels are None", remedy="give both, or from_documents=True")
    else:
        judged = _judged(
            index,
            queries,
            qrels,
            profile=profile,
            ignore_identical_ids=ignore_identical_ids,
            sample=sample,
            seed=settings.seed,
        )
    request = TrainingRequest(
        what=what,
        settings=replace(settings, base=training.base_of(index, settings.base)),
        sources=() if from_documents else sources_in_memory(judged),
        index=index.info.id,
        target=output,
    )
    return training.train(index, judged, request)


def bench(
    index: Index,
    queries: Queries,
    qrels: Judgements,
    retrievers: Sequence[str] = (),
    measures: Sequence[str] = ("nDCG@10", "R@100", "AP", "RR@10"),
    *,
    timed: int = 500,
    seed: int = 0,
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
) -> Bench:
    """Compare retrievers on judged queries: quality with intervals and tests, speed and size.

    ``retrievers`` are names, perhaps with stages (``hybrid+rerank``); by default all of the index.
    Each is timed in a process of its own, over ``timed`` searches.

    Raises QueryError if the index lacks what a retriever needs, a measure is unknown, or an option
    is out of range.
    """
    from .eval.bench import bench as benching
    from .eval.scoring.measures import parse_measures

    chosen = parse_measures(",".join(names("measures", measures)))
    timed, seed = whole_number("timed", timed, 1), whole_number("seed", seed, 0)
    judged = _judged(
        index, queries, qrels, profile=profile, ignore_identical_ids=ignore_identical_ids
    )
    return benching.bench(
        index,
        judged,
        name=index.info.name,
        retrievers=tuple(dict.fromkeys(names("retrievers", retrievers)))
        or index.retrievers_of_texts,
        measures=chosen,
        timed=timed,
        seed=seed,
    )


def score(
    task: str | Path,
    gold: str | Path | Sequence[str | Path],
    run: str | Path | Sequence[str | Path],
    measures: Sequence[str] = (),
) -> Scores:
    """Score the submission of a task as its organisers do; ``task`` is a name of ``factseek score``
    or a YAML file of a task.

    Several files are paired by position. ``measures`` replace the task's own, if it ranks
    documents. Raises CheckFailed if the submission has errors, SourceError if the gold cannot be
    read, QueryError if there is no such task.
    """
    from .eval.files.answers import ScoreOptions
    from .eval.run.judge import score_files
    from .eval.scoring.measures import parse_measures

    named = names("measures", measures)
    chosen = tuple(parse_measures(",".join(named))) if named else ()
    options = ScoreOptions(measures=chosen)
    return score_files(str(task), paths_of("gold", gold), paths_of("run", run), options)


def check(task: str | Path, file: str | Path, source: str | Path | None = None) -> CheckReport:
    """Return the faults of a submission; ``source`` is the task's input, to check that every query
    is answered.

    Raises QueryError if there is no such task, MachineError if the file cannot be read.
    """
    from .eval.tasks import task as task_named

    chosen = task_named(str(task))
    path = path_of("file", file)
    return chosen.check(path) if source is None else chosen.check(path, path_of("source", source))


def rank_claims(
    task: str,
    statements: str | Path | Sequence[str | Path] | Statements,
    *,
    train: str | Path | Sequence[str | Path] = (),
    load: str | Path | None = None,
    save: str | Path | None = None,
    model: str = "",
    language: str = "",
    words: int = 0,
    config: Config | None = None,
) -> RankedClaims:
    """Rank tweets or debate sentences by check-worthiness, the most worth checking first.

    ``task`` names the format of the files (``ct2021-1a`` or ``ct2021-1b``). ``statements`` are
    files, or texts in memory: a mapping from id to text, pairs, or a DataFrame. The ranker is
    learned from the labelled files ``train`` and written to ``save``, or it is the saved model
    ``load``. ``model`` is the kind of ranker; ``language`` is an ISO 639-1 code, by default the
    language of the task or of the texts. Each statement has at most ``words`` words that explain
    its score.

    Raises QueryError if there is no such task or model, or nothing to learn from. Raises
    SourceError if a file cannot be read, or a text is in a language that the model did not learn.
    """
    from .claims.checkworthiness import ranking
    from .claims.checkworthiness.rankers import kind
    from .claims.settings import Config as ClaimsConfig
    from .claims.text.languages import check_languages, read_language, with_language
    from .core.files import files_in, writable
    from .core.progress import silent
    from .core.settings import view
    from .eval.tasks import STATEMENTS
    from .integrations._python_data import as_statements

    words = whole_number("words", words, 0)
    format_ = STATEMENTS.load(task)
    learned_from = files_in(paths_of("train", train))
    if load is not None and (learned_from or save is not None or model):
        raise UsageError(
            "load excludes train, save and model", remedy="learn a ranker, or load one"
        )
    if save is not None:
        writable(Path(save), learned_from)
    settings = view(_checked(config), ClaimsConfig)
    if load is None and not learned_from and kind(model or settings.claims.model).LEARNS:
        raise QueryError("give train with labelled files to learn from, or load with a saved model")
    code = read_language(language) or ranking.language_of_task(format_)
    # Read the statements first, so that an error in them appears before minutes of training.
    parts = (
        {str(path): format_.read_statements(path, labelled=False) for path in files_in(paths)}
        if (paths := _as_paths(statements))
        else {"statements": as_statements(statements)}
    )
    request = ranking.RankerRequest(
        task=task,
        train=tuple(learned_from),
        load=Path(load) if load is not None else None,
        model=model,
        language=code,
    )
    learned = ranking.load_or_train(request, format_, settings, silent)
    if save is not None:
        ranking.save(Path(save), learned)
    read = {place: with_language(part, code) for place, part in parts.items()}
    for place, part in read.items():
        check_languages(part, learned.manifest.languages, place)
    every = [statement for part in read.values() for statement in part]
    return ranking.rank_and_explain(learned, every, words=words)


def _as_paths(values: Any) -> list[Path]:
    """Return the paths in ``values``; none if it is something else."""
    if isinstance(values, str | Path):
        return [Path(values)]
    if isinstance(values, list | tuple) and all(isinstance(each, str | Path) for each in values):
        return list(map(Path, values))
    return []


def _checked(config: Config | None) -> Config:
    """Return settings, by default all defaults; raise ConfigError if one is invalid."""
    from .core.settings import check

    if config is None:
        return Config()
    if not isinstance(config, Config):
        raise ConfigError(
            f"config is {shown(config)}", remedy="give factseek.Config, or read_config(path)"
        )
    return check(config)


def _folds(folds: int, judged: Judged) -> int:
    """Return a number of folds; raise QueryError if it is not from 2 to the number of queries."""
    number, most = whole_number("folds", folds, 2), len(judged.queries)
    if number > most:
        raise QueryError(
            f"folds is {number}",
            remedy=f"give a number from 2 to {most:,}, the number of judged queries",
        )
    return number


def _one_measure(text: str) -> str:
    from .eval.scoring.measures import parse_measures

    measure, *others = parse_measures(str(text))
    if others:
        raise QueryError(f"measure is {quote_value(text)}", remedy="give one measure")
    return measure


def _judged(
    index: Index,
    queries: Queries,
    qrels: Judgements,
    *,
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
    sample: int | None = None,
    seed: int = 0,
) -> Judged:
    """Return the judged queries among ``queries``, ready for tuning, training and benchmarks."""
    from .eval.files.answers import TaskQuery
    from .eval.run.batch import judge_queries
    from .integrations._python_data import as_qrels, as_queries

    check_index(index)
    task_queries = [TaskQuery(query.qid, query.text) for query in as_queries(queries)]
    judgements = as_qrels(qrels)
    return judge_queries(
        index,
        task_queries,
        judgements,
        profile=profile,
        ignore_identical_ids=ignore_identical_ids,
        sample=sample,
        seed=seed,
    )


def read_queries(path: str | Path) -> list[Query]:
    """Return the queries of a file in their order.

    The file may have any form that ``factseek run trec`` reads.

    ``irds:NAME`` reads the queries of a dataset of ir_datasets. Raises SourceError, with the line's
    number, for the first line that is not a query or repeats a qid.
    """
    from .eval.files.topics import read_topics
    from .integrations._stand_ins import stand_ins

    args = Namespace(queries=Path(path))
    with stand_ins(args):
        return read_topics(args.queries)


def read_run(path: str | Path) -> Run:
    """Return a TREC run.

    Its hits are sorted by score, then by docid, both descending, whatever the order of the lines.

    Raises SourceError, with the line's number, for the first line that is not a result or repeats
    an earlier result.
    """
    from .core.records import runs

    return runs.read_run(Path(path))


def read_qrels(path: str | Path) -> Qrels:
    """Return judgements: TREC's ``qid 0 docid relevance``, or BEIR's three columns with or without
    a header.

    If the second of TREC's columns, or a column ``subtopic``, names several subtopics, measures of
    diversity (``alpha_nDCG@10``) read them; elsewhere, a document has its highest grade.
    ``irds:NAME`` reads the judgements of a dataset of ir_datasets. Raises SourceError, with the
    line's number, for the first line that is not a judgement or judges a docid differently than an
    earlier line.
    """
    from .core.records import qrels
    from .integrations._stand_ins import stand_ins

    args = Namespace(qrels=Path(path))
    with stand_ins(args):
        return qrels.read_qrels(args.qrels)


def write_run(run: Run, path: str | Path, tag: str) -> None:
    """Write a TREC run with its queries in the order of ``run``; write the whole file or nothing.

    Raises QueryError if an id or the tag is empty, contains white space or cannot be encoded as
    UTF-8. Raises MachineError if the file cannot be written.
    """
    from .core.records import runs
    from .integrations._python_data import as_scores

    as_scores(run)
    runs.write_run(run, path_of("path", path), tag)
