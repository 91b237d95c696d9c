"""``make pages``: gc-view of the models of ``make bench`` and of large graphs, in a browser."""

from pathlib import Path

import pytest
from benchmark_models import each_benchmark_model, load
from browser import Browser, needs_browser
from large_graphs import chain_with_branches

import graphc
from graphc.viewing import CompilationReport

pytestmark = needs_browser
TABS = ("memory", "rewrites", "passes", "placement", "graph")
FRAME_SECONDS = 0.25
"""Most that a frame may take, drawn in software on a busy machine."""


def look_at_all(report: CompilationReport, path: Path, record) -> None:
    """Choose every node of every stage and open every tab; nothing fails, and nothing is loaded."""
    path.write_text(report.html())
    browser = Browser()
    try:
        browser.open(path)
        stages = browser.evaluate("program().stages.length")
        nodes, slowest = 0, 0.0
        for stage in range(stages):
            browser.evaluate(f"chooseStage({stage})")
            nodes += browser.evaluate("""(() => {
                for (let i = 0; i < graph().nodes.length; i += 1) {
                    select(i, true);
                    if ($("details").innerText === "") throw new Error("nothing about node " + i);
                }
                return graph().nodes.length; })()""")
            seconds = browser.evaluate("""(() => { showAll(true); const begin = performance.now();
                for (let i = 0; i < 5; i += 1) draw();
                return (performance.now() - begin) / 5000; })()""")
            slowest = max(slowest, seconds)
        for tab in TABS:
            browser.evaluate(f"showTab('{tab}')")
            browser.settle()
            assert browser.evaluate(f"$('{tab}').hidden") is False
        assert browser.errors == []
        loaded = [url for url in browser.requests if not url.startswith(("data:", path.as_uri()))]
        assert loaded == []
    finally:
        browser.close()
    record("stages", stages)
    record("nodes chosen", nodes)
    record("ms of the slowest frame", slowest * 1000)
    assert slowest < FRAME_SECONDS


@each_benchmark_model
def test_a_model_of_the_benchmark(path, tmp_path, record_property):
    look_at_all(graphc.explain(load(path)), tmp_path / "page.html", record_property)


@pytest.mark.parametrize("count", [3000, 6000])
def test_a_large_graph(count, tmp_path, record_property):
    report = graphc.explain(chain_with_branches(count), pipeline="cse")
    look_at_all(report, tmp_path / "page.html", record_property)
