"""The pipeline of a model: from a database, or by a search."""

import os
from collections.abc import Callable
from typing import Any

from ..compiler.options import Options
from ..profiling.machine import this_machine
from ..runtime import ProgressEvent
from .lookup import (
    PipelineChoice,
    choice_of,
    find_database,
    keep_records,
    known_records,
    look_up,
    model_key,
)
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
    known = known_records(database)
    machine = this_machine(options.threads)
    record = known.find(model_key(model, options), machine, options.precision)
    if record is not None and record.seconds >= budget:
        return choice_of(record, options, machine, str(database))
    result = search_pipeline(model, options, feeds, budget, known, progress=progress)
    keep_records(known, result.records, database)
    return choice_of(result.record, options, machine, f"{len(result.trials)} trials")


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
