"""The pipeline of a model: from a database, or by a search."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..compiler.options import Options
from ..profiling.machine import this_machine
from ..runtime import ProgressEvent
from .database import TuningDatabase, read_database, write_database
from .lookup import SHIPPED, PipelineChoice, choice_of, find_database, look_up, model_key
from .measured_feeds import Feeds
from .tuner import search_pipeline


def choose_pipeline(
    model: Any,
    options: Options,
    database: str | os.PathLike[str] | None = None,
    budget: float | None = None,
    feeds: Feeds | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
) -> PipelineChoice:
    """The pipeline for `model`: that of a database, or the result of a search of `budget` seconds.

    A search is not repeated if `database` has the result of one that took as long; its result is
    added, unless that is ``"shipped"``, which is only read. Raises `UsageError` for a file that is
    no database or, without a budget, is absent.
    """
    if budget is None:
        return _stored(model, options, database)
    path = None if database is None or database == SHIPPED else Path(database)
    known = _known(database)
    machine = this_machine(options.threads)
    record = known.find(model_key(model, options), machine, options.precision)
    if record is not None and record.seconds >= budget:
        return choice_of(record, options, machine, str(database))
    result = search_pipeline(model, options, feeds, budget, known, progress=progress)
    if path is not None:
        for record in result.records:
            known.add(record)
        write_database(known, path)
    return choice_of(result.record, options, machine, f"{len(result.trials)} trials")


def _known(database: str | os.PathLike[str] | None) -> TuningDatabase:
    """The records that a search begins with; none if there is no such file yet."""
    if database is None:
        return TuningDatabase()
    return find_database(database) if database == SHIPPED else read_database(Path(database))


def _stored(
    model: Any, options: Options, database: str | os.PathLike[str] | None
) -> PipelineChoice:
    if database is None:
        return PipelineChoice(options.pipeline, "")
    found = look_up(model, options, find_database(database), str(database))
    if found is None:
        reason = f"pipeline: the default one; {database} has none for this model on this CPU"
        return PipelineChoice(options.pipeline, reason)
    return found
