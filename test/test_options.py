"""The options of a compilation: one value, whose fields say what they are."""

import argparse
import dataclasses
import inspect
from types import SimpleNamespace

import pytest

import graphc
from graphc.compiler import compile
from graphc.compiler.options import Group, Options, option_of
from graphc.errors import UsageError
from graphc.passes.infra.report import Report
from graphc.tools.cli_options import (
    add_compile_options,
    compile_arguments,
    repeated_flags,
    take_target,
)

FIELDS = {each.name: option_of(each) for each in dataclasses.fields(Options)}
GIVEN = {
    "target": "cpu:znver4", "dims": {"batch": 2}, "outputs": ["y"], "threads": 3,
    "pipeline": "cse", "precision": "strict", "opt_level": 1, "data_tiling": True,
    "extra_flags": ["--a"], "timeout": 5.0, "progress": print, "save_temps": "temps",
    "host": False, "check_rewrites": True, "assume": {"n == 1": True}, "overridden": ["w"],
    "independent_dims": ["n"], "donate": ["past.*"], "cache": "folder",
}  # fmt: skip
CHOICES = {"tune", "tuning_database", "place", "feeds"}
"""Arguments of `graphc.compile` that choose a pipeline or devices, and are no options."""


def test_compile_takes_every_option_and_explains_it():
    parameters = inspect.signature(graphc.compile).parameters
    assert set(parameters) - {"model"} - CHOICES == set(FIELDS) == set(GIVEN)
    plain = inspect.signature(compile.compile).parameters
    assert {n: p for n, p in parameters.items() if n not in CHOICES} == dict(plain)
    for name in [*FIELDS, *CHOICES]:
        assert f"`{name}" in graphc.compile.__doc__ or f"``{name}=" in graphc.compile.__doc__, name


def test_compile_hands_every_option_down(monkeypatch):
    made = SimpleNamespace(report=Report())

    def record(model, options, calls):
        made.given = options, calls
        return made

    monkeypatch.setattr(compile, "_compile", record)
    (options,), calls = graphc.compile("model.onnx", **GIVEN).given
    for each in dataclasses.fields(Options):
        default = None if each.default is dataclasses.MISSING else each.default
        assert getattr(options, each.name) != default, each.name
    assert str(options.target) == "cpu:znver4"
    assert calls.options == {
        "overridden": ["w"],
        "assume": {"n == 1": True},
        "independent_dims": ["n"],
    }


def test_options_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options.of("cpu").threads = 2


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="optimise"):
        Options.of("cpu", optimise=True)


def test_defaults_are_filled_in():
    options = Options.of("cpu:znver4", threads=2)
    assert "vector-bits=512" in options.pipeline
    assert "threads=2" in options.pipeline
    assert Options.of("cpu").threads >= 1
    assert Options.of("interpret").cache is None


def test_modules_record_what_they_were_compiled_with():
    recorded = Options.of("cpu:znver4", threads=2, opt_level=1).recorded()
    assert recorded == {
        "target": "cpu:znver4", "threads": 2, "precision": "f32", "opt_level": 1,
    }  # fmt: skip


def _parsed(*texts):
    parser = argparse.ArgumentParser()
    add_compile_options(parser)
    return parser.parse_args(texts)


def test_tools_leave_defaults_to_the_options():
    given = compile_arguments(_parsed())
    target = take_target(given, "compiled")
    assert Options.of(target, **given) == Options.of("cpu")


def test_tools_have_a_flag_for_every_option_of_a_group():
    flags = _parsed(
        "--target=cpu:znver4", "--dim=batch=2", "--threads=3", "--pass-pipeline=cse",
        "--precision=strict", "--opt-level=1", "--data-tiling", "--backend-flag=--a",
        "--timeout=5", "--save-temps=temps", "--no-host", "--check-rewrites", "--cache=folder",
            "--donate=past.*",
    )  # fmt: skip
    given = compile_arguments(flags)
    assert set(given) == {name for name, option in FIELDS.items() if option.group is not None}
    found = Options.of(take_target(given, "compiled"), **given)
    wanted = {name: GIVEN[name] for name in FIELDS if FIELDS[name].group is not None}
    made = Options.of(wanted.pop("target"), **wanted)
    assert found.cache.folder == made.cache.folder
    assert dataclasses.replace(found, cache=None) == dataclasses.replace(made, cache=None)


def test_flags_that_decide_are_repeated():
    texts = [
        "--target=cpu:znver4", "--pass-pipeline=cse", "--threads=3", "--opt-level=1",
        "--no-data-tiling", "--backend-flag=--a", "--backend-flag=--b",
    ]  # fmt: skip
    flags = _parsed(*texts, "--timeout=5", "--no-cache", "--dim=batch=2")
    assert repeated_flags(flags) == texts
    assert repeated_flags(_parsed()) == []


def test_one_target_at_a_time():
    with pytest.raises(UsageError, match="one target is verified at a time"):
        take_target(compile_arguments(_parsed("--target=cpu,vulkan")), "verified")


def test_options_without_a_flag_are_of_no_group():
    for name, option in FIELDS.items():
        assert bool(option.flags) == (option.group in (Group.GRAPH, Group.COMPILE)), name
        assert option.doc
