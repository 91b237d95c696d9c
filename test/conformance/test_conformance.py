"""Tests of the machinery around ONNX's backend test suite, with a few cases of our own."""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest
from conformance_cases import CASES, forks

from conformance import __main__ as tool
from conformance import known, matrix, suite_results
from conformance.calls import check_calls
from conformance.case_outcome import CaseOutcome, CaseStatus
from conformance.cases import case_info
from conformance.run_cases import run_cases
from conformance.suite_journal import SuiteJournal, SuiteRun, merge_journals
from graphc.errors import UsageError
from graphc.runtime import CompiledModel

RUN = SuiteRun("cpu", "cpu:host", "a CPU", True, True, {"onnx": "1"}, "2026-01-01")
PASS, WRONG, ERROR = CaseStatus.PASS, CaseStatus.WRONG, CaseStatus.ERROR


@pytest.fixture
def suite(monkeypatch, tmp_path):
    """`CASES` in place of ONNX's, without results and lists. Executed cases are counted."""
    ran = []

    def run_cases(cases, **options):
        ran.extend(each.name for each in cases)
        return fresh(cases, **options)

    fresh = tool.run_cases
    monkeypatch.setattr(tool, "load_cases", lambda: CASES)
    monkeypatch.setattr(tool, "run_cases", run_cases)
    monkeypatch.setattr(tool.docs, "main", lambda: None)
    monkeypatch.setattr(suite_results, "FOLDER", tmp_path / "conformance")
    monkeypatch.setattr(known, "FOLDER", tmp_path / "not_passing")
    return ran


@forks
def test_a_run_in_shards_is_resumed_and_merged(suite, tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    first = ["--results", files[0], "--shard", "1/2", "-j1"]
    assert tool.main(first) == 1  # Abs is expected to give 7
    assert "WRONG ANSWER test_abs" in capsys.readouterr().out
    assert tool.main(first) == 2
    assert "is there already" in capsys.readouterr().err
    assert tool.main([*first, "--resume"]) == 1
    assert suite == ["test_relu", "test_abs"]
    assert tool.main([*first, "--retry"]) == 1
    assert suite == ["test_relu", "test_abs", "test_abs"]
    assert not suite_results.FOLDER.exists()
    assert tool.main(["--results", files[1], "--shard", "2/2", "-j1"]) == 0
    assert tool.main(["--merge", *files]) == 1
    (found,) = suite_results.read_results()
    assert (found.passed, found.total) == (2, 3)
    assert found.operators["Abs"].not_passing == ["test_abs"]
    assert found.run.device.endswith("bits")


@forks
def test_a_listed_case_is_no_surprise(suite, capsys):
    arguments = ["-k", "abs", "-j1", "--suggest"]
    assert tool.main(arguments) == 1
    known.FOLDER.mkdir()
    suggested = capsys.readouterr().out.partition("\n\n")[2]
    (known.FOLDER / "cpu.toml").write_text(suggested)
    assert tool.main(arguments) == 0


@forks
def test_what_only_compiles_is_not_run(suite):
    assert tool.main(["-j1", "-k", "abs", "--compile-only"]) == 0


class Counting:
    """A model that returns its input, but another array from call number `after` on."""

    def __init__(self, after):
        self.model, self.after, self.calls = self, after, 0

    def save(self, path):
        raise UsageError("there is no code")

    def run(self, inputs):
        self.calls += 1
        return [inputs[0] + (self.calls > self.after)]


def test_each_call_must_give_the_same():
    x = np.array([1, 2], np.float32)
    check_calls(CASES[0], Counting(after=9), [x], [x])
    with pytest.raises(AssertionError, match="called again, output 0 is another: float32"):
        check_calls(CASES[0], Counting(after=1), [x], [x])
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_calls(CASES[0], Counting(after=0), [x], [x])


@forks
def test_other_values_give_what_they_give_in_a_model_that_was_not_called(monkeypatch):
    """A model that keeps its first result is right only as long as it gets the same inputs."""
    run, kept = CompiledModel.run, {}
    monkeypatch.setattr(
        CompiledModel,
        "run",
        lambda model, names, feeds: kept.setdefault(model, run(model, names, feeds)),
    )
    (outcome,) = run_cases(CASES[:1], jobs=1, timeout=60)
    assert outcome.status is WRONG
    assert "called with other values, output 0 is another" in outcome.detail


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3"])
def test_shards_that_are_none(text):
    with pytest.raises(UsageError, match="--shard takes I/N"):
        tool.shard(CASES, text)


def test_shards_divide_the_cases():
    shards = [tool.shard(CASES, f"{i}/2") for i in (1, 2)]
    assert [[each.name for each in part] for part in shards] == [
        ["test_relu", "test_abs"],
        ["test_neg"],
    ]


def test_a_torn_line_is_dropped(tmp_path):
    path = tmp_path / "run.jsonl"
    journal = SuiteJournal(path, RUN, resume=False)
    journal.add(CaseOutcome("test_a", WRONG, "why"))
    journal.close()
    with path.open("a") as file:
        file.write('{"name": "test_b", "sta')
    assert list(merge_journals([path])[1]) == ["test_a"]
    journal = SuiteJournal(path, replace(RUN, date="later"), resume=True)
    assert journal.outcomes == {"test_a": CaseOutcome("test_a", WRONG, "why")}
    assert journal.run.date == RUN.date
    journal.add(CaseOutcome("test_b", PASS))
    journal.close()
    assert list(merge_journals([path])[1]) == ["test_a", "test_b"]


def test_files_of_other_runs(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, target in zip(paths, ("cpu", "vulkan"), strict=True):
        SuiteJournal(path, replace(RUN, target=target), resume=False).close()
    with pytest.raises(UsageError, match="target is 'vulkan', not 'cpu'"):
        merge_journals(paths)
    with pytest.raises(UsageError, match="target is 'vulkan', not 'cpu'"):
        SuiteJournal(paths[1], RUN, resume=True)
    paths[0].write_text(json.dumps({"name": "test_a"}) + "\n")
    with pytest.raises(UsageError, match="is no file of results"):
        SuiteJournal(paths[0], RUN, resume=True)


@pytest.fixture
def lists(monkeypatch, tmp_path):
    """A list for the CPU, and the differences from it for Vulkan."""
    monkeypatch.setattr(known, "FOLDER", tmp_path)
    group = '[[group]]\nstatus = "{}"\nreason = "{}"\ncases = {}\n'
    (tmp_path / "cpu.toml").write_text(group.format("wrong answer", "draws", '["a", "b"]'))
    (tmp_path / "vulkan.toml").write_text(
        'base = "cpu"\npassing = ["b"]\n' + group.format("error", "no f64", '["c"]')
    )


def test_a_list_begins_with_another(lists):
    draws, no_f64 = known.Known(WRONG, "draws"), known.Known(ERROR, "no f64")
    assert known.load_known("vulkan") == {"a": draws, "c": no_f64}
    assert known.load_known("vulkan:portable") == known.load_known("vulkan")
    assert known.load_known("vulkan", executed=False) == {"c": no_f64}
    assert known.load_known("metal") == {}


def test_a_case_that_fails_when_it_runs_compiles(lists, tmp_path):
    group = '[[group]]\nstatus = "error"\nreason = "empty"\ncompiles = true\ncases = ["e"]\n'
    (tmp_path / "cuda.toml").write_text(group)
    assert known.load_known("cuda") == {"e": known.Known(ERROR, "empty", compiles=True)}
    assert known.load_known("cuda", executed=False) == {}


def test_surprises(lists):
    ended = [("a", WRONG), ("b", PASS), ("c", CaseStatus.CRASH), ("d", ERROR)]
    outcomes = [CaseOutcome(name, status, "why") for name, status in ended]
    assert known.surprises(outcomes, known.load_known("vulkan")) == [
        "CRASH        c: listed as 'error'; why",
        "ERROR        d: why",
    ]
    assert known.surprises([CaseOutcome("a", PASS)], known.load_known("cpu")) == [
        "PASS         a: listed as 'wrong answer'"
    ]


def test_suggestions_share_reasons():
    details = {"a": 'node "a" of 3', "b": 'node "b" of 4', "c": "other\n"}
    outcomes = [CaseOutcome(name, ERROR, detail) for name, detail in details.items()]
    groups = tomllib.loads("\n".join(known.suggested_groups(outcomes)))["group"]
    assert [(each["reason"], each["cases"]) for each in groups] == [
        ('node "a" of 3', ["a", "b"]),
        ("other\n", ["c"]),
    ]


def test_what_was_mended_counts():
    infos = [case_info(each) for each in CASES]
    names = [info.name for info in infos]
    before = {n: CaseOutcome(n, s) for n, s in zip(names, (PASS, ERROR, WRONG), strict=True)}
    after = {n: CaseOutcome(n, s) for n, s in zip(names, (WRONG, PASS, WRONG), strict=True)}
    whole = suite_results.sum_up(RUN, infos, before)
    mended = suite_results.with_mended(whole, infos, after)
    ended = {n: CaseOutcome(n, s) for n, s in zip(names, (PASS, PASS, WRONG), strict=True)}
    assert mended == suite_results.sum_up(RUN, infos, ended)
    assert whole == suite_results.sum_up(RUN, infos, before)


def test_the_page_has_a_column_for_each_target(lists, monkeypatch, tmp_path):
    infos = [case_info(each) for each in CASES]
    endings = {"cpu": (PASS, PASS, PASS), "vulkan": (PASS, ERROR, WRONG), "cuda": (PASS,) * 3}
    monkeypatch.setattr(suite_results, "FOLDER", tmp_path / "conformance")
    for target, statuses in endings.items():
        run = replace(RUN, target=target, executed=target != "cuda")
        outcomes = {
            info.name: CaseOutcome(info.name, status, "|why|", native=info.name != "test_relu")
            for info, status in zip(infos, statuses, strict=True)
        }
        suite_results.write_results(suite_results.sum_up(run, infos, outcomes))
    found = suite_results.read_results()
    assert [each.run.target for each in found] == ["cpu", "vulkan", "cuda"]
    assert found[1].native_tensors == 0
    page = matrix.page({matrix.title(each): each for each in found})
    assert "| operator | opsets | types | cpu | vulkan | cuda (compiled) | not passing |" in page
    assert "| Relu | 1 | float | 1 (1 host) | 1 (1 host) | 1 (1 host) |  |" in page
    assert "| 1 | 0 of 1 | 1 | vulkan: `test_neg`[^2] |" in page
    assert page.endswith("[^1]: wrong answer: |why|\n[^2]: error: |why|\n")
