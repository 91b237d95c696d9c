"""Every rewrite on models of ``make bench``, evaluated before and after.

``make check-rewrites`` checks all models, and all of their layers.
"""

import pytest
from benchmark_models import PATHS, load_shortened

from graphc.compiler.explain import explain
from harness.marks import long


@pytest.mark.parametrize("name", [long("bert"), "mobilenetv2", long("resnet50")])
def test_rewrites_hold(name):
    (path,) = (path for path in PATHS if path.stem == name)
    report = explain(load_shortened(path), "cpu", check_rewrites=True)
    fired = [each for each in report.rewrites.values() if each.count]
    assert sum(each.checked for each in fired) >= sum(each.count for each in fired) > 40
    assert not any(each.unchecked for each in fired)
