"""Tests of the machinery for converted models: judgement of a model, surprises."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

from converted import __main__ as tool
from converted.check_conversion import Converted, check
from converted.conversion_outcome import ConversionOutcome, ConversionStatus, worst_of
from graphc.runtime import CompiledModel

X = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)


def converted(op_type, expected=None, **attributes):
    node = helper.make_node(op_type, ["x"], ["y"], name="n", **attributes)
    model = build_model([node], {"x": (np.float32, ["rows", 2])}, ["y"])
    return Converted(model, {"x": X}, None if expected is None else [expected])


def test_a_model_that_gives_what_onnx_runtime_gives():
    """The model is called with its own inputs, other values, more rows and fewer rows: each twice,
    in three rounds."""
    outcome = check("a", converted("Neg", -X))
    assert (outcome.status, outcome.models, outcome.calls) == (ConversionStatus.PASS, 1, 24)


def test_a_framework_that_gives_something_else_says_nothing():
    outcome = check("a", converted("Neg", X))
    assert outcome.status is ConversionStatus.NO_REFERENCE
    assert "beside the framework: [0] off by" in outcome.detail
    assert check("a", converted("NoSuchOperator")).status is ConversionStatus.NO_REFERENCE


def test_a_model_that_keeps_its_first_result_is_wrong(monkeypatch):
    run, kept = CompiledModel.run, {}
    monkeypatch.setattr(
        CompiledModel,
        "run",
        lambda model, names, feeds: kept.setdefault(model, run(model, names, feeds)),
    )
    outcome = check("a", converted("Neg"))
    assert outcome.status is ConversionStatus.WRONG
    assert outcome.detail.startswith("call 2, inputs 1: [0] off by")


def test_of_several_models_what_fails_decides():
    def ended(*statuses):
        return worst_of(
            "a", [ConversionOutcome(str(i), each, str(i)) for i, each in enumerate(statuses)]
        )

    found = ended(
        ConversionStatus.NOT_CONVERTED,
        ConversionStatus.PASS,
        ConversionStatus.WRONG,
        ConversionStatus.UNSUPPORTED,
    )
    assert (found.name, found.status, found.detail) == ("a", ConversionStatus.WRONG, "2")
    assert (
        ended(ConversionStatus.PASS, ConversionStatus.NO_REFERENCE).status is ConversionStatus.PASS
    )
    assert not ended(ConversionStatus.PASS, ConversionStatus.UNSUPPORTED).passed
    assert ended(ConversionStatus.NOT_CONVERTED).passed


def test_what_is_listed_is_no_surprise(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "LISTS", tmp_path)
    text = '[[group]]\nstatus = "unsupported"\nreason = "why"\ncases = ["a"]\n'
    (tmp_path / "some.toml").write_text(text)
    known = tool.read_list("some")
    assert not tool.is_surprise(ConversionOutcome("a", ConversionStatus.UNSUPPORTED), known)
    assert tool.is_surprise(ConversionOutcome("a", ConversionStatus.PASS), known)
    assert not tool.is_surprise(ConversionOutcome("a", ConversionStatus.NOT_CONVERTED), known)
    assert tool.is_surprise(ConversionOutcome("b", ConversionStatus.WRONG), known)
    assert not tool.is_surprise(ConversionOutcome("b", ConversionStatus.NO_REFERENCE), known)


@pytest.mark.parametrize("suite", tool.SUITES)
def test_lists_can_be_read(suite):
    assert all(status is not ConversionStatus.PASS for status in tool.read_list(suite).values())
