"""Ranks that the run decides: what follows settles them, or the host keeps them open."""

import numpy as np
import onnx.parser
import pytest
from importing import refused, returned
from numerics import run_onnxruntime

import graphc
from graphc.errors import (
    ConversionError,
    ExecutionError,
    GraphcError,
    LimitError,
    UnsupportedModelError,
)
from graphc.frontend.onnx import import_onnx, make_plan
from graphc.frontend.onnx.importing.choices import Choices, is_contradiction, settle
from graphc.frontend.onnx.importing.importer import Importer

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'


def parse(signature, body):
    return onnx.parser.parse_model(f"{HEADER}\nmodel {signature}\n{{\n{body}\n}}")


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def check(model, *shapes, native, target="interpret", dims=None, **feeds):
    compiled = graphc.compile(model, target, dims=dims, cache=False)
    assert compiled.native is native
    assert graphc.check(model, dims=dims).native is native
    for shape in shapes:
        given = {"x": floats(*shape), **feeds}
        (want,), (got,) = run_onnxruntime(model, given), compiled.run(None, given)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5)
    return compiled


@pytest.mark.parametrize("declared", ["", "[1, 5]", "[b, 5]", "[5]"])
def test_squeeze_without_axes_drops_what_is_one_when_it_runs(declared):
    """Whatever rank the model declares: exporters write that of the sizes they saw."""
    model = parse(
        f"(float[a, 1, b] x) => (float{declared} y)",
        "p = Exp (x)\n y = Squeeze (p)",
    )
    shapes = [(1, 1, 5), (3, 1, 5), (3, 1, 1), (1, 1, 1), (3, 1, 0)]
    model.graph.output[0].type.tensor_type.shape.Clear()
    if not declared:
        model.graph.output[0].type.tensor_type.ClearField("shape")
    check(model, *shapes, native=False)


def test_no_declared_rank_is_taken_for_that_of_every_run():
    model = parse(
        "(float[a, 1, b] x) => (float y) <float[a, b] s>", "s = Squeeze (x)\n y = Exp (s)"
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert host_nodes(model) == ["Squeeze_0", "Exp_1"]


def host_nodes(model):
    plan = make_plan(model, dims=None, why_not=lambda _: None)
    pieces = [piece for piece in plan.parts if not piece.part.native]
    return [node.name for piece in pieces for node in plan.nodes(piece.part)]


def test_squeeze_in_the_middle_has_a_program_for_each_rank(caplog):
    """The size of the matrices may be 1, and ONNX Runtime goes on with vectors then."""
    model = parse(
        "(float[a, 1, b] x, float[b, c] w) => (float y)",
        "s = Squeeze (x)\n m = MatMul (s, w)\n y = Softmax (m)",
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    compiled = check(model, (3, 1, 5), (1, 1, 5), (3, 1, 5), (1, 1, 5), native=True, w=floats(5, 2))
    assert len(caplog.records) == 1
    with pytest.raises(ExecutionError, match="MatMul_1"):  # of 3 by 1x2
        compiled.run(None, {"x": floats(3, 1, 1), "w": floats(1, 2)})


def test_what_is_assumed_of_sizes():
    model = parse("(float[a, b] x) => (float y)", "s = Squeeze (x)\n y = Exp (s)")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for assume, shape in (
        ({}, "axb"),
        ({"a == 1": True}, "b"),
        ({"b == 1": True, "a == 1": True}, ""),
        ({"a == 1": False, "b == 1": True, "c == 4": True}, "a"),
    ):
        assert returned(model, assume=assume) == [f"{shape}xf32".lstrip("x")]
    assert "its rank depends on whether a, b are 1" in refused(model, UnsupportedModelError)


def test_squeeze_drops_no_size_that_cannot_be_one():
    model = parse(
        "(float[a, 1, b] x) => (float y)",
        """
        twice = Concat <axis: int = 0> (x, x)
        low = Constant <value_ints: ints = [0, 0, 3]> ()
        none = Constant <value_ints: ints = [0, 0, 0]> ()
        pads = Concat <axis: int = 0> (none, low)
        wide = Pad (twice, pads)
        y = Squeeze (wide)
        """,
    )
    check(model, (1, 1, 1), (2, 1, 4), native=True)


def test_squeeze_whose_result_fits_what_follows_with_one_rank():
    """The pool takes three axes: with one row ONNX Runtime fails, too."""
    model = parse(
        "(float[a, 1, 4, b] x) => (float[a, 4, b] y)",
        "s = Squeeze (x)\n y = MaxPool <kernel_shape: ints = [1]> (s)",
    )
    compiled = check(model, (3, 1, 4, 5), native=True)
    with pytest.raises(ExecutionError, match=r"Squeeze_0.* where a is not 1"):
        compiled.run(None, {"x": floats(1, 1, 4, 5)})


def test_no_import_is_repeated(monkeypatch):
    """One finds the question, one for each answer, and the last makes the program."""
    model = parse(
        "(float[a, 1, 4, 5] x) => (float[a, 4, 5] y)",
        "s = Squeeze (x)\n y = MaxPool <kernel_shape: ints = [1]> (s)",
    )
    tried = []
    import_model = Importer.import_model

    def record(importer, *arguments):
        tried.append(dict(importer.choices.answers))
        return import_model(importer, *arguments)

    monkeypatch.setattr(Importer, "import_model", record)
    import_onnx(model)
    assert len(tried) == 4
    question = ("", "a == 1")
    assert [each.get(question) for each in tried] == [None, False, True, False]


def test_one_size_has_one_answer():
    """Four ways to squeeze two tensors, two of them consistent, one of which suits the pool."""
    model = parse(
        "(float[a, 4, 5] x, float[a, 4, 5] z) => (float[a, 4, 5] y)",
        "s = Squeeze (x)\n t = Squeeze (z)\n d = Sub (s, t)\n"
        "y = MaxPool <kernel_shape: ints = [1]> (d)",
    )
    check(model, (3, 4, 5), native=True, z=floats(3, 4, 5))


def test_squeezed_rows_before_gemm():
    """With one row, Gemm gets a vector, which ONNX Runtime takes for the row."""
    model = parse(
        "(float[a, 1, 5] x, float[5, 2] w) => (float[a, 2] y)",
        "s = Squeeze (x)\n y = Gemm (s, w)",
    )
    check(model, (3, 1, 5), (1, 1, 5), native=True, w=floats(5, 2))


SQUEEZED = """
    kernels = ConstantOfShape (kernels_shape)
    c = Conv <strides: ints = [4]> (x, kernels)
    shape = Shape (c)
    n = Gather (shape, two)
    is_one = Equal (n, one)
    q = If (is_one) <
      then_branch: graph = g1 () => (t) { t = Squeeze (c, axis) },
      else_branch: graph = g2 () => (t) { t = Identity (c) }>
    u = Unsqueeze (q, axis)
"""
CONSTANTS = (
    "<int64[3] kernels_shape = {2, 1, 4}, int64 one = {1}, int64 two = {2}, int64[1] axis = {2}>"
)


def test_if_of_two_ranks_takes_the_branch_that_fits():
    """The nodes that TorchScript exports for ``squeeze(2)``."""
    model = parse(
        f"(float[batch, 1, samples] x) => (float y) {CONSTANTS}",
        SQUEEZED + " y = MaxPool <kernel_shape: ints = [1]> (u)",
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    compiled = check(model, (1, 1, 4), (3, 1, 5), native=True, target="cpu")
    with pytest.raises(ExecutionError, match=r"If_5.*different rank.*other branch alone"):
        compiled.run(None, {"x": floats(2, 1, 9)})


def test_if_of_two_ranks_both_of_which_fit():
    model = parse(
        f"(float[batch, 1, samples] x) => (float y) {CONSTANTS}", SQUEEZED + "y = Neg (u)"
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    check(model, (1, 1, 4), (2, 1, 9), (2, 1, 5), native=True)
    text = str(import_onnx(model, assume={}))
    assert 'graph.assumed = {"floordiv(samples, 4) == 1" = false}' in text


def test_if_of_two_ranks_by_data():
    model = parse(
        "(float[n, 2] x, bool c) => (float y)",
        """
        zero = Constant <value_ints: ints = [0]> ()
        q = If (c) <
          then_branch: graph = g1 () => (t) { t = Identity (x) },
          else_branch: graph = g2 () => (t) { t = ReduceSum <keepdims: int = 0> (x, zero) }>
        y = Neg (q)
        """,
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for taken in (True, False):
        check(model, (3, 2), native=False, c=np.array(taken))


DEAD = """
    y = If (c) <
      then_branch: graph = g1 () => (t) { t = MatMul (x, wide) },
      else_branch: graph = g2 () => (t) { t = MatMul (x, narrow) }>
"""


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_that_cannot_run_is_not_taken(taken):
    """A model for two sampling rates, where the weights for the other do not fit the samples."""
    sizes = (6, 3) if taken else (3, 6)
    model = parse("(float[1, samples] x, bool c) => (float[1, 2] y)", DEAD)
    for name, rows in zip(("wide", "narrow"), sizes, strict=True):
        tensor = onnx.numpy_helper.from_array(floats(rows, 2), name)
        model.graph.initializer.append(tensor)
    compiled = check(model, (1, 6), native=True, dims={"samples": 6}, c=np.array(taken))
    with pytest.raises(ExecutionError, match=r"If_0.*branch that is taken cannot run.*inner sizes"):
        compiled.run(None, {"x": floats(1, 6), "c": np.array(not taken)})


@pytest.mark.parametrize("rows", [2, 6])
def test_conditions_that_constants_decide(rows):
    """Also by way of floats, and of sizes that were fixed; the other branch is not looked at."""
    model = parse(
        "(float[rows, 2] x) => (float y)",
        """
        shape = Shape (x)
        floats = Cast <to: int = 1> (shape)
        most = ReduceMax <keepdims: int = 0> (floats)
        limit = Constant <value_float: float = 3.5> ()
        c = Greater (most, limit)
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = ReduceSum <keepdims: int = 0> (x) },
          else_branch: graph = g2 () => (t) { t = Identity (x) }>
        """,
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert returned(model, dims={"rows": rows}) == ["f32" if rows > 3 else "2x2xf32"]
    check(model, (rows, 2), native=False)


def test_unsupported_nodes_of_a_branch_that_cannot_run():
    model = parse(
        "(float[1, 6] x, bool c) => (float[1, 6] y)",
        """
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = Neg (x) },
          else_branch: graph = g2 () => (t) {
            wide = com.acme.Widen (x)
            square = Transpose <perm: ints = [0, 2, 1]> (x)
            t = Add (wide, square) }>
        """,
    )
    model.opset_import.append(onnx.helper.make_opsetid("com.acme", 1))
    compiled = graphc.compile(model, "interpret")
    (y,) = compiled.run(None, {"x": floats(1, 6), "c": np.array(True)})
    np.testing.assert_array_equal(y, -floats(1, 6))


def test_no_branch_can_run():
    model = parse("(float[1, 5] x, bool c) => (float[1, 2] y)", DEAD)
    for name in ("wide", "narrow"):
        model.graph.initializer.append(onnx.numpy_helper.from_array(floats(3, 2), name))
    with pytest.raises(GraphcError, match="inner sizes of 1x5xf32 and 3x2xf32"):
        graphc.compile(model, "interpret")


def answers_that(fit):
    """The necessary answers to three questions, where `fit` tells which answers are possible."""

    def trial(answers):
        choices = Choices(answers)
        given = [choices.answer(name, "?") for name in "abc"]
        if not any(fit(*rest) for rest in _completions(given)):
            raise ConversionError("no")
        return choices

    return {name: answer for (name, _), answer in settle(trial).necessary.items()}


def _completions(given):
    options = [(True, False) if answer is None else (answer,) for answer in given]
    return [(a, b, c) for a in options[0] for b in options[1] for c in options[2]]


def test_settled_is_what_all_ways_have_in_common():
    assert answers_that(lambda a, b, c: a and not b and c) == {"a": True, "b": False, "c": True}
    assert answers_that(lambda a, b, c: b and a != c) == {"b": True}
    assert answers_that(lambda a, b, c: True) == {}
    assert answers_that(lambda a, b, c: False) == {}


def test_questions_that_are_too_many_to_be_settled():
    """The program is that for sizes which are not 1, and one more for those of a call."""
    names = "abcdefg"
    model = parse(f"(float[{', '.join(names)}] x) => (float y)", "s = Squeeze (x)\n y = Exp (s)")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    compiled = check(model, (2, 2, 2, 2, 2, 2, 2), (2, 1, 2, 1, 1, 2, 3), native=True)
    assert compiled.metadata.options["assumed"] == {f"{name} == 1": False for name in names}


def test_a_model_that_is_too_large_contradicts_nothing():
    assert not is_contradiction(LimitError("too much"))


def test_ifs_of_two_ranks_in_both_branches_of_another():
    """A wrong answer contradicts the branch that it is given in; neither branch is a dead one."""
    model = parse(
        "(float[a, 3, b] x, bool fast) => (float[c, 3] y)",
        """
        one = Constant <value_int = 1> ()
        y = If (fast) <then_branch = t () => (float[p, q] u) {
              c = Shape <start = 2> (x)
              is_one = Equal (c, one)
              r = If (is_one) <then_branch = tt () => (float[d, e] v)
                    { two = Constant <value_ints = [2]> () v = Squeeze (x, two) },
                  else_branch = te () => (float[d, e, f] w) { w = Identity (x) }>
              s = Transpose <perm = [1, 0]> (r)
              u = Transpose <perm = [1, 0]> (s)
          }, else_branch = e () => (float[p, q] u2) {
              c2 = Shape <start = 2> (x)
              is_one2 = Equal (c2, one)
              n = Neg (x)
              r2 = If (is_one2) <then_branch = et () => (float[d, e] v2)
                    { two2 = Constant <value_ints = [2]> () v2 = Squeeze (n, two2) },
                  else_branch = ee () => (float[d, e, f] w2) { w2 = Identity (n) }>
              s2 = Transpose <perm = [1, 0]> (r2)
              u2 = Transpose <perm = [1, 0]> (s2)
          }>
        """,
    )
    for fast in (True, False):
        check(model, (2, 3, 1), (5, 3, 1), native=True, fast=np.array(fast))
