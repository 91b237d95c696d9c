"""The examples of all simplifications together."""

import runpy
from pathlib import Path

from graphc.passes.graph.simplify import REWRITES


def test_every_simplification_has_an_example():
    files = map(runpy.run_path, map(str, Path(__file__).parent.glob("test_*.py")))
    examples = [example for file in files for example in file.get("EXAMPLES", ())]
    assert {e.rewrite for e in examples} == {rewrite.name for rewrite in REWRITES}
