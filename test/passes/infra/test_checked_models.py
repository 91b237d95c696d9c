"""Every rewrite on the models of ``make bench``, evaluated before and after.

A layer is checked once or twice: ``make check-rewrites`` checks them all.
"""

from benchmark_models import each_benchmark_model, load_shortened

from graphc.compiler.explain import explain


@each_benchmark_model
def test_rewrites_hold(path):
    batch = 2 if path.stem.endswith("-b8") else 1
    report = explain(load_shortened(path, batch), "cpu", check_rewrites=True)
    fired = [each for each in report.rewrites.values() if each.count]
    assert sum(each.checked for each in fired) >= sum(each.count for each in fired) > 40
    assert not any(each.unchecked for each in fired)
