"""The page in a real browser: seen, searched, stepped through, and quick on large graphs."""

import pytest
from browser import Browser, needs_browser
from large_graphs import chain_with_branches
from onnx import helper
from tool_models import dense, model

import graphc

pytestmark = needs_browser
FRAME_SECONDS = 0.25
"""Most that a frame of 3,000 nodes may take, drawn in software on a busy machine."""


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(browser, tmp_path):
    """``page(report)`` shows a report, and sees to it that nothing failed or was loaded."""
    path = tmp_path / "page.html"

    def show(report, **options):
        browser.requests.clear()
        browser.errors.clear()
        path.write_text(report.html(**options))
        browser.open(path)
        return browser

    yield show
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("data:", path.as_uri()))] == []


def attention_like():
    """Two products and elementwise ops between them, with names as exporters give them."""
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["a"], name="/layer.0/attn/scores"),
        helper.make_node("Relu", ["a"], ["b"], name="/layer.0/attn/act"),
        helper.make_node("MatMul", ["b", "x"], ["c"], name="/layer.0/attn/values"),
        helper.make_node("Add", ["c", "x"], ["y"], name="/layer.0/add"),
    ]
    return model(nodes, {"x": [16, 16]}, {"y": [16, 16]})


def place_of(browser, name):
    """The position in the window of the middle of the node with this name."""
    return browser.evaluate(f"""(() => {{
        const node = graph().nodes[nodeNamed([{name!r}])];
        const box = $("canvas").getBoundingClientRect();
        return [box.x + (node.x + node.w / 2 - view.x) * view.scale,
                box.y + (node.y + node.h / 2 - view.y) * view.scale];
    }})()""")


def test_what_is_chosen_is_described(page):
    seen = page(graphc.explain(attention_like()))
    assert seen.evaluate("stage().name") == "graph-fuse-epilogue"
    x, y = place_of(seen, "/layer.0/attn/scores")
    seen.move(x, y)
    tip = seen.evaluate("$('tip').innerText")
    assert "matmul + relu" in tip
    assert "/layer.0/attn/scores" in tip
    assert "16 × 16 f32" in tip  # noqa: RUF001
    seen.click(x, y)
    details = seen.evaluate("$('details').innerText")
    for text in ("ONNX nodes", "/layer.0/attn/act", "Fused (epilogue)", "Used by", "fuse-epilogue"):
        assert text in details
    seen.key("ArrowDown")  # along the edge
    assert "/layer.0/attn/values" in seen.evaluate("$('details').innerText")
    seen.key("Escape")
    assert seen.evaluate("state.selected") == -1


def test_stages_keep_the_chosen_node(page):
    seen = page(graphc.explain(attention_like()))
    seen.click(*place_of(seen, "/layer.0/attn/act"))
    before = place_of(seen, "/layer.0/attn/act")
    seen.key("[")
    assert seen.evaluate("isLast()") is False
    assert seen.evaluate("graph().nodes[state.selected].op") == "matmul"
    after = place_of(seen, "/layer.0/attn/scores")
    assert after == pytest.approx(before, abs=1.5)
    seen.evaluate("$('stages').querySelector('button').click()")
    assert seen.evaluate("stage().name") == "imported"
    seen.evaluate("document.querySelector('[data-colors=changes]').click()")
    assert seen.evaluate("$('legend').innerText") != ""
    seen.key("]")
    assert seen.evaluate("state.stage") == 1


def test_search_by_keyboard(page):
    seen = page(graphc.explain(attention_like()))
    seen.evaluate("chooseStage(0)")
    seen.key("/")
    seen.type("attn/ matmul")
    assert seen.evaluate("$('hits').innerText") == "1 / 2"
    assert seen.evaluate("$('results').innerText").count("matmul") == 2
    seen.key("Enter")
    assert seen.evaluate("$('hits').innerText") == "2 / 2"
    assert seen.evaluate("graph().nodes[state.selected].origin") == ["/layer.0/attn/values"]
    x, y = place_of(seen, "/layer.0/attn/values")
    assert abs(x - seen.evaluate("view.width / 2")) < 120  # brought to the middle
    assert abs(y - seen.evaluate("view.height / 2")) < 160
    seen.key("Escape")
    assert seen.evaluate("[$('search').value, $('results').hidden]") == ["", True]
    seen.key("/")
    seen.type("nowhere")
    assert seen.evaluate("$('hits').innerText") == "none"


def test_tabs_show_memory_rewrites_passes_and_placement(page):
    seen = page(graphc.explain(attention_like()))
    report = graphc.explain(attention_like())
    for tab in ("memory", "rewrites", "passes", "placement"):
        seen.evaluate(f"document.querySelector('[data-tab={tab}]').click()")
        assert seen.evaluate(f"[$('{tab}').hidden, $('graph').hidden]") == [False, True]
    text = seen.evaluate("$('rewrites').textContent")
    for name, statistics in report.rewrites.items():
        assert (name in text) == bool(statistics.count or statistics.declined)
    assert "fuse-epilogue" in seen.evaluate("$('passes').textContent")
    assert "All of the model is compiled" in seen.evaluate("$('placement').textContent")
    seen.evaluate("showTab('memory')")
    assert "3.00 KiB" in seen.evaluate("$('memory').innerText")  # scores, values and the output
    painted = """(() => { const c = $("lifetimes-canvas"); return c.getContext("2d")
        .getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 === 3 && v); })()"""
    assert seen.evaluate(painted)
    seen.evaluate("showTab('rewrites'); $('rewrites').querySelector('td a').click()")
    assert seen.evaluate("[$('graph').hidden, state.selected >= 0]") == [False, True]


def test_times_colour_the_graph(page):
    rows = [
        {"kernel": "k0", "nodes": ["product", "sum"], "seconds": 0.003, "share": 0.75, "calls": 1,
         "workers": 1.0, "gflops": 12.5, "gigabytes": None},
    ]  # fmt: skip
    profile = {"model": "dense", "rows": rows, "peak_bytes": 12345}
    seen = page(graphc.explain(dense()), profile=profile)
    seen.evaluate("document.querySelector('[data-colors=time]').click()")
    seen.move(*place_of(seen, "product"))
    assert "75 % · 3.000 ms · 12.5 GFLOP/s" in seen.evaluate("$('tip').innerText")
    assert "75 %" in seen.evaluate("$('legend').innerText")
    seen.evaluate("showTab('memory')")
    assert "12.1 KiB" in seen.evaluate("$('memory').innerText")


def test_dark_and_light(page):
    seen = page(graphc.explain(dense()))
    back = "getComputedStyle(document.body).backgroundColor"
    try:
        schemes = []
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            seen.call("Emulation.setEmulatedMedia", features=features)
            seen.settle()
            schemes.append(seen.evaluate(f"[{back}, colors.panel]"))
    finally:
        seen.call("Emulation.setEmulatedMedia", features=[])
    assert schemes == [["rgb(244, 245, 247)", "#ffffff"], ["rgb(20, 23, 27)", "#1d2126"]]


def test_three_thousand_nodes_are_quick(page):
    seen = page(graphc.explain(chain_with_branches(3000), pipeline="cse"))
    assert seen.evaluate("graph().nodes.length") > 2500
    seen.key("f")
    assert seen.evaluate("view.drawn") == seen.evaluate("graph().nodes.length")
    assert labels_overlap(seen) is False
    seconds = frames(seen)
    seen.wheel(500, 400, -1200)
    assert seen.evaluate("view.drawn < 0.7 * graph().nodes.length")  # what is outside is left out
    seen.key("/")
    seen.type("n2499")
    assert seen.evaluate("graph().nodes[state.selected].origin") == ["block.277/n2499"]
    assert seen.evaluate("view.drawn") < 100
    before = seen.evaluate("view.x")
    seen.drag([(500, 500), (430, 500), (400, 520)])
    moved = (seen.evaluate("view.x") - before) * seen.evaluate("view.scale")
    assert moved == pytest.approx(100, abs=1)
    assert max(seconds, frames(seen)) < FRAME_SECONDS


def labels_overlap(seen):
    return seen.evaluate("""view.labels.length < 10 || view.labels.some((a, i) =>
        view.labels.slice(0, i).some((b) =>
            a[0] < b[2] && a[2] > b[0] && a[1] + 2 < b[3] - 2 && a[3] - 2 > b[1] + 2))""")


def frames(seen):
    """Seconds that a frame takes."""
    return seen.evaluate("""(() => { const begin = performance.now();
        for (let i = 0; i < 10; i += 1) draw();
        return (performance.now() - begin) / 10000; })()""")


def test_accuracy_of_a_quantised_model_colours_the_graph(page):
    layers = [
        {"node": "product", "name": "product", "op_type": "MatMul", "value": "xw",
         "quantized": True, "sqnr": 30.0, "alone": 0.02},
        {"node": "sum", "name": "sum", "op_type": "Add", "value": "xwb", "quantized": False,
         "sqnr": None, "alone": None},
    ]  # fmt: skip
    accuracy = {"model": "dense", "error": 0.031, "loss": 0.25, "metric": "argmax", "kept": ["sum"],
                "bytes": [2048, 1024], "layers": layers}  # fmt: skip
    seen = page(graphc.explain(dense()), accuracy=accuracy)
    seen.evaluate("document.querySelector('[data-tab=accuracy]').click()")
    text = seen.evaluate("$('accuracy').innerText")
    for part in ("3.1 %", "30.0 dB", "exact", "kept in f32", "2.00 KiB → 1.00 KiB", "0.250"):
        assert part in text
    assert text.index("product") < text.index("sum")  # worst first
    seen.evaluate("$('accuracy').querySelector('td a').click()")
    assert "30.0 dB · alone 2.0 % of the outputs" in seen.evaluate("$('details').innerText")
    seen.evaluate("document.querySelector('[data-colors=accuracy]').click()")
    assert "60 dB" in seen.evaluate("$('legend').innerText")
    assert seen.evaluate("noiseOf(nodeLayer(graph().nodes[state.selected]))") == 0.5


def test_pages_without_accuracy_do_not_offer_it(page):
    seen = page(graphc.explain(dense()))
    assert seen.evaluate("document.querySelector('[data-tab=accuracy]')") is None
    assert seen.evaluate("document.querySelector('[data-colors=accuracy]').disabled") is True


def placement_of_attention():
    """A placement file for `attention_like`, with its scores on another device."""
    names = [["/layer.0/attn/scores", "/layer.0/attn/act"], ["/layer.0/attn/values"],
             ["/layer.0/add"]]  # fmt: skip
    devices = ["gpu", "cpu", "cpu"]
    regions = [
        {"nodes": each, "device": device, "seconds": {"cpu": 0.002, "gpu": 0.001},
         "moving": {"cpu" if device == "gpu" else "gpu": 0.0005}}
        for each, device in zip(names, devices, strict=True)
    ]  # fmt: skip
    values = [
        {"name": "x", "bytes": 1024, "producer": None, "consumers": [0, 1, 2], "is_output": False,
         "crossings": {"gpu": 0.00025}},
        {"name": "b", "bytes": 1024, "producer": 0, "consumers": [1], "is_output": False,
         "crossings": {"cpu": 0.00025}},
        {"name": "c", "bytes": 1024, "producer": 1, "consumers": [2], "is_output": False,
         "crossings": {}},
        {"name": "y", "bytes": 1024, "producer": 2, "consumers": [], "is_output": True,
         "crossings": {}},
    ]  # fmt: skip
    nodes = {name: d for each, d in zip(names, devices, strict=True) for name in each}
    why = {"seconds": 0.0055, "single": {"cpu": 0.006}, "measured": {}, "regions": regions,
           "values": values}  # fmt: skip
    return {"format": 1, "devices": ["cpu", "gpu"], "nodes": nodes, "why": why}


def test_devices_are_colours_and_moving_has_a_cost(page):
    seen = page(graphc.explain(attention_like()), placement=placement_of_attention())
    assert seen.evaluate("state.colors") == "device"
    assert seen.evaluate("$('legend').innerText").split() == ["cpu", "gpu"]
    first = "graph().nodes[nodeNamed(['/layer.0/attn/scores'])]"
    last = "graph().nodes[nodeNamed(['/layer.0/attn/values'])]"
    painted = [seen.evaluate(f"paint({node}, 0)[0]") for node in (first, last)]
    assert painted == [seen.evaluate(f"colors.device{number}") for number in (1, 0)]
    assert seen.evaluate(f"badgeOf({first}, 0)") == "1.000 ms"
    seen.click(*place_of(seen, "/layer.0/attn/scores"))
    details = seen.evaluate("$('details').innerText")
    for text in ("gpu", "cpu 2.000 ms, gpu 1.000 ms", "cpu +0.500 ms"):
        assert text in details
    seen.evaluate("document.querySelector('[data-tab=placement]').click()")
    table = seen.evaluate("$('placement').innerText")
    for text in ("cost of moving it", "5.500 ms", "6.000 ms", "Values that cross devices"):
        assert text in table
    assert seen.evaluate("$('placement').querySelectorAll('tbody tr').length") == 3 + 2
    seen.evaluate("chooseProgram(model.programs.length - 1)")
    assert seen.evaluate("graph().nodes.map((node) => node.op)") == [
        "input", "gpu", "cpu", "cpu", "output",
    ]  # fmt: skip
