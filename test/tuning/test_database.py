"""Databases of tuning: text, merging, and files that are none."""

import itertools
import json
from dataclasses import replace

import pytest

from graphc.errors import UsageError
from graphc.tools import gc_tune
from graphc.tuning.database import (
    TuningDatabase,
    TuningRecord,
    parse_records,
    read_database,
    write_database,
)


def _record(model="m", ratio=0.9, cpu="zen4", changes=(("graph-winograd.tile", "2"),)):
    return TuningRecord(model, "name", {"cpu": cpu}, "f32", "cse", dict(changes), ratio, 3)


def _database(*records):
    database = TuningDatabase()
    for record in records:
        database.add(record)
    return database


RECORDS = [_record(), _record(ratio=0.8), _record("n"), _record(cpu="spr"), _record(ratio=0.8)]


def test_merging_is_commutative_and_idempotent():
    texts = set()
    for order in itertools.permutations(RECORDS):
        merged = TuningDatabase()
        for record in order:
            merged.merge(_database(record))
        merged.merge(merged)
        texts.add(merged.to_text())
    (text,) = texts
    assert len(text.splitlines()) == 3
    assert parse_records(text.splitlines(), "text").to_text() == text


def test_the_better_record_is_kept():
    database = _database(*RECORDS)
    assert database.find("m", {"cpu": "zen4"}, "f32").ratio == 0.8
    assert database.find("m", {"cpu": "zen4"}, "strict") is None
    assert database.find("m", {"cpu": "z80"}, "f32") is None


def test_changes_that_paid_are_counted_for_the_cpu():
    other = (("graph-direct-conv.run", "false"),)
    database = _database(*RECORDS, _record("o", changes=other), _record("p", changes=()))
    assert database.changes_of({"cpu": "zen4"}) == [dict(_record().changes), dict(other)]
    assert database.changes_of({"cpu": "z80"}) == []
    assert database.changes_of({"cpu": "zen4", "processor": "AuthenticAMD 25 97"}) == []


def test_the_nearest_record_is_of_the_same_cpu_and_threads():
    here = {"cpu": "zen4", "processor": "amd", "threads": 4, "versions": {"graphc": "2"}}
    other = {**here, "versions": {"graphc": "1"}}
    database = _database(
        _record_on(here | {"processor": "intel"}, 0.1),
        _record_on(here | {"threads": 8}, 0.3),
        _record_on(other, 0.9),
        _record_on(here | {"versions": {"graphc": "0"}}, 0.92),
    )
    assert database.nearest("m", here, "f32").machine == other
    database.add(_record_on(here, 0.95))
    assert database.nearest("m", here, "f32").ratio == 0.95
    assert database.nearest("n", here, "f32") is None
    assert database.nearest("m", here, "strict") is None
    assert database.nearest("m", {**here, "cpu": "z80"}, "f32") is None


def _record_on(machine, ratio):
    return replace(_record(ratio=ratio), machine=machine)


def test_the_longest_search_is_known():
    short, long = replace(_record(ratio=0.8), seconds=30.0), replace(_record(), seconds=600.0)
    for records in ((short, long), (long, short)):
        (kept,) = _database(*records).records.values()
        assert (kept.ratio, kept.seconds) == (0.8, 600.0)


def test_trials_are_merged():
    """The less favourable of two measurements of a program is believed."""
    fused, tile = {"cpu-fuse-depthwise.run": "false"}, {"graph-winograd.tile": "2"}
    one = replace(_record(), tried=[(fused, 1.1), (tile, 0.9)])
    other = replace(_record(ratio=0.8), tried=[(tile, 0.8), (fused, 1.2), ({}, 1.0)])
    texts = {_database(*records).to_text() for records in ((one, other), (other, one, one))}
    (text,) = texts
    (kept,) = parse_records([text], "text").records.values()
    assert kept.tried == ((fused, 1.2), (tile, 0.9), ({}, 1.0))


def test_records_of_the_first_format_are_read():
    content = {k: v for k, v in json.loads(LINE).items() if k in OLD} | {"format": 1}
    assert parse_records([json.dumps(content)], "text").to_text() == f"{LINE}\n"


LINE = _record().to_json()
OLD = ("model", "name", "machine", "precision", "pipeline", "changes", "ratio", "trials")


@pytest.mark.parametrize(
    "line",
    [
        "{", "[]", "1", "null",
        LINE.replace('"format": 2', '"format": 3'),
        LINE.replace("0.9", "-1"), LINE.replace("0.9", '"fast"'), LINE.replace("0.9", "NaN"),
        LINE.replace('"seconds": 0.0', '"seconds": -1'),
        LINE.replace('"tried": []', '"tried": [1]'),
        LINE.replace('"tried": []', '"tried": [[{"a": 1}, 1.0]]'),
        LINE.replace('"tried": []', '"tried": [[{"a": "1"}, -1.0]]'),
        LINE.replace('"features": {}', '"features": {"heavy": "many"}'),
        LINE.replace('"cse"', "3"), LINE.replace('"ratio"', '"time"'),
        LINE.replace('"2"', "2"), LINE.replace('{"cpu": "zen4"}', "7"),
    ],
)  # fmt: skip
def test_lines_that_are_no_records_are_named(line):
    with pytest.raises(UsageError, match=r"'db.jsonl', line 3: no tuning record"):
        parse_records([LINE, "", line], "db.jsonl")


def test_files_are_merged_by_the_tool(tmp_path, capsys):
    paths = [tmp_path / f"{number}.jsonl" for number in range(2)]
    for path, records in zip(paths, (RECORDS[:2], RECORDS[2:]), strict=True):
        write_database(_database(*records), path)
    out = tmp_path / "all.jsonl"
    assert gc_tune.main(["--merge", *map(str, paths), "--db", str(out)]) == 0
    assert read_database(out).to_text() == _database(*RECORDS).to_text()
    assert gc_tune.main(["--merge", str(tmp_path / "none"), "--db", str(out)]) == 2
    assert "there is no database" in capsys.readouterr().err
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert gc_tune.main(["--merge", str(tmp_path / "bytes"), "--db", str(out)]) == 2
    assert "cannot read" in capsys.readouterr().err
