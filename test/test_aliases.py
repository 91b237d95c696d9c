"""Old names of modules, passes, options and arguments: each works today, and warns once."""

import importlib
import inspect
import subprocess
import sys
import warnings

import pytest

import graphc
from graphc import aliases
from graphc.aliases import ARGUMENTS, ATTRIBUTES, MODULES, OPTIONS, PASSES, takes_old_arguments
from graphc.compiler.compile import compile_to_file
from graphc.frontend.onnx import make_plan
from graphc.passes.infra.pipeline import Pipeline
from graphc.passes.infra.registry import find_pass, known_passes


@pytest.fixture
def nothing_warned(monkeypatch):
    monkeypatch.setattr(aliases, "_warned", set())


@pytest.mark.parametrize("old", PASSES)
@pytest.mark.usefixtures("nothing_warned")
def test_an_old_pass_name_is_the_pass_of_today(old):
    new = PASSES[old]
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now called '{new}'"):
        found = find_pass(old)
    assert found is known_passes()[new]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_pass(old) is found
        assert str(Pipeline.parse(old)) == str(Pipeline.parse(new))


@pytest.mark.parametrize(("name", "old"), [(n, old) for n in OPTIONS for old in OPTIONS[n]])
@pytest.mark.usefixtures("nothing_warned")
def test_an_old_option_is_the_option_of_today(name, old):
    new = OPTIONS[name][old]
    value = {"split": "amx"}.get(old, "true")
    with pytest.warns(DeprecationWarning, match=f"{name} '{old}' is now called '{new}'"):
        parsed = Pipeline.parse(f"{name}{{{old}={value}}}")
    assert parsed == Pipeline.parse(f"{name}{{{new}={value}}}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parsed == Pipeline.parse(f"{name}{{{old}={value}}}")


@pytest.mark.parametrize(("name", "old"), [(n, old) for n in ATTRIBUTES for old in ATTRIBUTES[n]])
@pytest.mark.usefixtures("nothing_warned")
def test_an_old_attribute_is_the_attribute_of_today(name, old):
    module, new = importlib.import_module(f"graphc.{name}"), ATTRIBUTES[name][old]
    assert old not in vars(module)
    with pytest.warns(DeprecationWarning, match=f"graphc.{name} '{old}' is now called '{new}'"):
        assert getattr(module, old) is getattr(module, new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(module, old) is getattr(module, new)


def test_an_attribute_that_never_was_is_missed():
    module = importlib.import_module("graphc.dialects.graph")
    with pytest.raises(AttributeError, match="no attribute 'never_was'"):
        module.never_was  # noqa: B018


@pytest.mark.parametrize(
    "function", [graphc.compile, compile_to_file, graphc.import_onnx, make_plan]
)
def test_functions_take_old_arguments(function):
    """Once wrapped, each has the argument by its new name alone."""
    parameters = inspect.signature(function).parameters
    for old, new in ARGUMENTS.items():
        assert old not in parameters
        assert new in parameters or "options" in parameters


@pytest.mark.usefixtures("nothing_warned")
def test_an_old_argument_is_the_argument_of_today():
    @takes_old_arguments
    def function(model, *, independent_dims=()):
        return model, independent_dims

    message = "argument of function 'apart' is now called 'independent_dims'"
    with pytest.warns(DeprecationWarning, match=message) as warned:
        assert function("m", apart=["n"]) == ("m", ["n"])
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function("m", apart=["n"]) == function("m", independent_dims=["n"])
    with pytest.raises(TypeError, match="both 'apart' and 'independent_dims'"):
        function("m", apart=["n"], independent_dims=["n"])


def test_no_old_name_names_something_else_today():
    assert not PASSES.keys() & known_passes().keys()
    for name, options in OPTIONS.items():
        assert not options.keys() & vars(known_passes()[name]()).keys()


@pytest.mark.parametrize("old", MODULES)
def test_an_old_name_is_the_module_of_today(old):
    sys.modules.pop(f"graphc.{old}", None)
    with pytest.warns(
        DeprecationWarning, match=f"graphc.{old} is now called graphc.{MODULES[old]}"
    ):
        found = importlib.import_module(f"graphc.{old}")
    today = importlib.import_module(f"graphc.{MODULES[old]}")
    assert found is today
    assert today.__spec__ is not None
    assert today.__spec__.name == f"graphc.{MODULES[old]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert importlib.import_module(f"graphc.{old}") is today


def test_the_warning_names_the_line_that_imports():
    code = "import graphc.passes.report\nassert graphc.passes.report.Report is graphc.Report"
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("<string>:1: OldNameWarning: graphc.passes.report is now")
    assert done.stderr.count("OldNameWarning") == 1
