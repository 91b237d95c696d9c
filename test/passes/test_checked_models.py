"""Every rewrite on the models of ``make bench``, evaluated before and after."""

from pathlib import Path

import onnx
import pytest

from graphc.benchmarks.weightless import filled
from graphc.explanation import explain

FOLDER = Path(__file__).parent.parent / "weightless"
MODELS = sorted(FOLDER.glob("*.onnx"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_rewrites_hold(path):
    report = explain(filled(onnx.load(path)), "cpu", check_rewrites=True)
    fired = [each for each in report.rewrites.values() if each.count]
    assert sum(each.checked for each in fired) >= sum(each.count for each in fired) > 100
    assert not any(each.unchecked for each in fired)
