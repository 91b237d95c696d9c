"""The pipeline that a database has for a model on this machine."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compiler.driver import require_compiled
from ..compiler.options import Options
from ..errors import UsageError
from ..frontend.onnx.importing.loading import load_model
from ..frontend.onnx.structural_digest import structural_digest
from ..profiling.machine import this_machine
from .database import TuningDatabase, TuningRecord, read_database, write_database
from .search_space import SearchSpace

SHIPPED = "shipped"
"""Stands for the database that comes with graphc; a file of that name is ``./shipped``."""
_SHIPPED_FILE = Path(__file__).with_name("shipped.jsonl")

_KEYED = ("target", "dims", "precision", "threads", "pipeline")
"""Options that are in the key of a record by themselves, or that it is about."""


@dataclass(frozen=True)
class PipelineChoice:
    """A pipeline, and why it was chosen."""

    pipeline: str
    reason: str


def model_key(model: Any, options: Options) -> str:
    """The digest that results of tuning are kept by: of the structure, the sizes, the target, and
    other options that decide the program and differ from the defaults."""
    proto, _ = load_model(model)
    sizes = ",".join(f"{name}={size}" for name, size in sorted(options.dims.items()))
    plain = Options.of(options.target, threads=options.threads).decisive()
    others = ",".join(
        f"{name}={value!r}"
        for name, value in sorted(options.decisive().items())
        if name not in _KEYED and value != plain[name]
    )
    return f"{structural_digest(proto)} {options.target.spelling} {sizes} {others}".strip()


def find_database(database: str | os.PathLike[str]) -> TuningDatabase:
    """The database in that file, or the one of graphc for `SHIPPED`. Raises `UsageError` if there
    is none."""
    path = _SHIPPED_FILE if database == SHIPPED else Path(database)
    if not path.exists():
        raise UsageError(f"there is no database '{path}'")
    return read_database(path)


def known_records(database: str | os.PathLike[str] | None) -> TuningDatabase:
    """The records that a search begins with; none if there is no such file yet."""
    if database is None:
        return TuningDatabase()
    return find_database(database) if database == SHIPPED else read_database(Path(database))


def keep_records(
    known: TuningDatabase,
    records: Iterable[TuningRecord],
    database: str | os.PathLike[str] | None,
) -> None:
    """Add `records` to what is `known`, and write both to the file, unless that is `SHIPPED`."""
    for record in records:
        known.add(record)
    if database is not None and database != SHIPPED:
        write_database(known, Path(database))


def look_up(
    model: Any, options: Options, known: TuningDatabase, origin: str
) -> PipelineChoice | None:
    """The choice that `known`, read from `origin`, has made for `model` on this machine, perhaps
    with other versions; None if there is no record.

    Its changes are made to the default pipeline of `options`, so that they are valid on this
    machine and round no more than the precision allows.
    """
    record = find_record(model, options, known)
    return (
        None
        if record is None
        else choice_of(record, options, this_machine(options.threads), origin)
    )


def find_record(model: Any, options: Options, known: TuningDatabase) -> TuningRecord | None:
    """The record of a search for `model` on this machine, perhaps with other versions; or None."""
    require_compiled(options)
    machine = this_machine(options.threads)
    record = known.nearest(model_key(model, options), machine, options.precision)
    if record is None or not (record.changes or record.seconds):  # a few trials, and no search
        return None
    return record


def choice_of(
    record: TuningRecord, options: Options, machine: Mapping[str, Any], origin: str
) -> PipelineChoice:
    """The choice of `record`, with its reason."""
    space = SearchSpace.of_changes(options.pipeline, record.changes)
    point = space.point(record.changes)
    changes = ", ".join(f"{name} = {value}" for name, value in space.changes(point).items())
    if not changes:
        reason = f"pipeline: the default one; nothing was faster ({origin})"
        return PipelineChoice(options.pipeline, reason)
    where = origin if dict(record.machine) == dict(machine) else f"{origin}, with other versions"
    reason = f"pipeline: {record.ratio:.3f} of the default's time ({where}): {changes}"
    return PipelineChoice(space.pipeline(point), reason)


def pipeline_for(
    model: "str | os.PathLike[str] | bytes | Any",
    database: str | os.PathLike[str],
    *,
    target: str = "cpu",
    **options: Any,
) -> str:
    """The pipeline that `database` has for a model on this machine; the default one otherwise.

    `options` are those of `graphc.compile`. Raises `UsageError` for a file that is no database.
    """
    made = Options.of(target, **options)
    found = look_up(model, made, find_database(database), str(database))
    return made.pipeline if found is None else found.pipeline
