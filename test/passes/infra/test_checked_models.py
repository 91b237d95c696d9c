"""Every rewrite on the models of ``make bench``, evaluated before and after."""

from benchmark_models import each_benchmark_model, load

from graphc.compiler.explain import explain


@each_benchmark_model
def test_rewrites_hold(path):
    report = explain(load(path), "cpu", check_rewrites=True)
    fired = [each for each in report.rewrites.values() if each.count]
    assert sum(each.checked for each in fired) >= sum(each.count for each in fired) > 100
    assert not any(each.unchecked for each in fired)
