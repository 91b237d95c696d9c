"""The sweep over operators."""

from graphc.benchmarks.operators.__main__ import CASES, OperatorTiming, missing


def test_every_case_has_a_title_of_its_own():
    titles = [case.title for case in CASES]
    assert len(set(titles)) == len(titles)


def test_what_has_no_case_is_listed():
    assert "ai.onnx.Relu" not in missing()
    assert "graphc.ReadCache" in missing()


def test_a_model_has_the_named_sizes_of_its_case():
    case = next(case for case in CASES if case.title == "Compress axis 1 named")
    x, condition = case.model().graph.input
    assert [each.dim_param or each.dim_value for each in x.type.tensor_type.shape.dim] == [
        "n4",
        "n128",
        768,
    ]
    assert condition.type.tensor_type.shape.dim[0].dim_param == "n128"
    assert {name: array.shape for name, array in case.feed().items()} == {
        "x": (4, 128, 768),
        "c": (128,),
    }


def test_what_cannot_run_is_the_worst():
    assert OperatorTiming("x", 0, 0, 0, "fails").ratio > OperatorTiming("y", 9, 1, 0).ratio == 9
