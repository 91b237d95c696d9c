"""Results of tuning, kept as JSON lines that may be read, compared and merged."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError

FORMAT = 2


@dataclass(frozen=True)
class TuningRecord:
    """The fastest pipeline that was found for a model on a machine.

    `model` is a digest of the model's structure and sizes, `machine` what measured times depend on.
    `changes` are the options that differ from the default pipeline, and `ratio` is the time of a
    call with them over that without, measured in turns. `seconds` is the time that the search was
    given. `tried` has the changes and the ratio of each program that was measured, and `features`
    describe the model: cost models learn from them.
    """

    model: str
    name: str
    machine: Mapping[str, Any]
    precision: str
    pipeline: str
    changes: Mapping[str, str]
    ratio: float
    trials: int = 0
    seconds: float = 0.0
    features: Mapping[str, float] = field(default_factory=dict[str, float])
    tried: Sequence[tuple[Mapping[str, str], float]] = ()
    format: int = FORMAT

    @property
    def key(self) -> tuple[str, str, str]:
        """The model, the machine and the precision that the record is about."""
        return self.model, json.dumps(dict(self.machine), sort_keys=True), self.precision

    def to_json(self) -> str:
        """The record as one line."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass
class TuningDatabase:
    """Records by their keys; of two with the same key, the one with the smaller ratio is kept."""

    records: dict[tuple[str, str, str], TuningRecord] = field(
        default_factory=dict[tuple[str, str, str], TuningRecord]
    )

    def add(self, record: TuningRecord) -> None:
        """Keep the better one of `record` and what is known, with all trials, and the longer time
        of a search."""
        known = self.records.get(record.key, record)
        self.records[record.key] = replace(
            min(record, known, key=_order),
            seconds=max(record.seconds, known.seconds),
            tried=_merge_trials([*record.tried, *known.tried]),
        )

    def merge(self, other: "TuningDatabase") -> None:
        """Add the records of `other`; the order of merges does not matter."""
        for record in other.records.values():
            self.add(record)

    def find(self, model: str, machine: Mapping[str, Any], precision: str) -> TuningRecord | None:
        """The record of a model on a machine, or None."""
        return self.records.get((model, json.dumps(dict(machine), sort_keys=True), precision))

    def nearest(
        self, model: str, machine: Mapping[str, Any], precision: str
    ) -> TuningRecord | None:
        """The record of a model on `machine`, or the best one with other versions on the same CPU
        with as many threads, or None. What was gained elsewhere is no reason to expect a gain.
        """
        found = self.find(model, machine, precision)
        if found is not None:
            return found
        alike = [
            record
            for record in self.records.values()
            if (record.model, record.precision) == (model, precision)
            and same_cpu(record.machine, machine)
            and record.machine.get("threads") == machine.get("threads")
        ]
        return min(alike, key=_order, default=None)

    def changes_of(self, machine: Mapping[str, Any]) -> list[Mapping[str, str]]:
        """The changes that paid on the CPU of `machine` for any model, the most frequent first."""
        counts: dict[str, int] = {}
        for record in self.records_on(machine):
            if record.changes:
                key = json.dumps(dict(record.changes), sort_keys=True)
                counts[key] = counts.get(key, 0) + 1
        ordered = sorted(counts, key=lambda key: (-counts[key], key))
        return [json.loads(key) for key in ordered]

    def records_on(self, machine: Mapping[str, Any]) -> list[TuningRecord]:
        """The records of models on the CPU of `machine`."""
        return [r for r in self.records.values() if same_cpu(r.machine, machine)]

    def to_text(self) -> str:
        """The lines of the database, in the order of their text."""
        return "".join(f"{line}\n" for line in sorted(r.to_json() for r in self.records.values()))


def same_cpu(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if two machines have the same CPU, as a microarchitecture and as kernels know it."""
    return all(one.get(name) == other.get(name) for name in ("cpu", "processor"))


def _order(record: TuningRecord) -> tuple[float, str]:
    return record.ratio, replace(record, seconds=0.0, tried=()).to_json()


def _merge_trials(
    trials: Iterable[tuple[Mapping[str, str], float]],
) -> tuple[tuple[Mapping[str, str], float], ...]:
    """The trials in the order of their text; of the same changes, the one with the larger ratio."""
    ratios: dict[str, float] = {}
    for changes, ratio in trials:
        key = json.dumps(dict(changes), sort_keys=True)
        ratios[key] = max(ratio, ratios.get(key, 0.0))
    return tuple((json.loads(key), ratios[key]) for key in sorted(ratios))


def parse_records(lines: Iterable[str], origin: str) -> TuningDatabase:
    """The database in `lines`. Raises `UsageError`, which names `origin` and the line."""
    database = TuningDatabase()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            database.add(_parse(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(f"'{origin}', line {number}: no tuning record: {error}") from error
    return database


def _parse(content: Any) -> TuningRecord:
    if content["format"] not in (1, FORMAT):  # 1 has fewer fields
        raise ValueError(f"format {content['format']!r} is not {FORMAT}")
    record = TuningRecord(**{**content, "format": FORMAT})
    texts = (record.model, record.name, record.precision, record.pipeline)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("the model, its name, the precision and the pipeline are texts")
    _require_ratio(record.ratio)
    _require_changes(record.changes)
    if isinstance(record.seconds, bool) or not 0 <= float(record.seconds) < 1e9:
        raise ValueError(f"{record.seconds!r} is no time")
    dict(record.machine)
    return replace(
        record,
        features={str(name): float(value) for name, value in record.features.items()},
        tried=_merge_trials(_parse_trial(*each) for each in record.tried),
    )


def _parse_trial(changes: Any, ratio: Any) -> tuple[Mapping[str, str], float]:
    _require_changes(changes)
    _require_ratio(ratio)
    return changes, ratio


def _require_changes(changes: Any) -> None:
    if not all(isinstance(value, str) for value in dict(changes).values()):
        raise TypeError("changes are texts")


def _require_ratio(ratio: Any) -> None:
    if isinstance(ratio, bool) or not 0 < float(ratio) < 1e6:
        raise ValueError(f"{ratio!r} is no ratio")


def read_database(path: Path) -> TuningDatabase:
    """The database in file `path`; an empty one if there is no such file. Raises `UsageError`."""
    if not path.exists():
        return TuningDatabase()
    try:
        return parse_records(path.read_text().splitlines(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{path}': {error}") from error


def write_database(database: TuningDatabase, path: Path) -> None:
    """Write `database` to file `path`, at once or not at all. Raises `OutputError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(database.to_text())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror}") from error
