"""Write the generated pages of docs/: ``python -m harness.docs``, or ``make docs``."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conformance.matrix import support_matrix
from conformance.rates import targets_page
from graphc.benchmarks import quantize_zoo
from graphc.benchmarks.zoo.outcome import read_run
from graphc.benchmarks.zoo.page import page_lines
from graphc.dialects import graph
from graphc.frontend.onnx.importing.registry import Converter, converters
from graphc.tools.explain_error import errors_page

from .generated import with_generated
from .reliability import reliability_page

FOLDER = Path(__file__).resolve().parents[2] / "docs"
ZOO_PAGE, ZOO_RESULTS = FOLDER / "zoo.md", FOLDER / "zoo.json"
QUANTIZATION_PAGE = FOLDER / "quantization.md"
QUANTIZATION_RESULTS = FOLDER / "quantization.json"
ONNX_PAGE = "https://onnx.ai/onnx/operators/onnx__{}.html"
NOTE = "<!-- Written by `make docs` from the sources; edits here are lost. -->"


def main() -> int:
    """Write every page that is not up to date."""
    for name, make in PAGES.items():
        path, text = FOLDER / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}")
    return 0


def graph_dialect() -> str:
    """The reference of the `graph` dialect: every op by family, then by order of definition."""
    sources = onnx_sources()
    families: dict[str, list[type[graph.GraphOp]]] = defaultdict(list)
    for op_class in graph.GraphOp.op_classes.values():
        families[_module(op_class)].append(op_class)
    lines = ["# The graph dialect", "", NOTE, "", inspect.getdoc(graph.Graph) or "", ""]
    lines += [
        f"{len(graph.GraphOp.op_classes)} ops in {len(families)} families, one file each in "
        "`dialects/graph/`. A signature lists operands (`?`: optional, `*`: variadic), then "
        "attributes with their kinds. All attributes are mandatory.",
        "",
        " · ".join(f"[{family}](#{family})" for family in sorted(families)),
    ]
    for family in sorted(families):
        lines += ["", f"## {family}"]
        for op_class in families[family]:
            lines += ["", *_op_entry(op_class, sources)]
    return "\n".join(lines) + "\n"


def _op_entry(op_class: type[graph.GraphOp], sources: dict[str, list[str]]) -> Iterator[str]:
    name = op_class.OPERATION_NAME
    yield f"### `{name}`"
    yield ""
    yield f"`{signature(op_class)}`"
    yield ""
    yield _markdown(inspect.getdoc(op_class) or "")
    links = [f"[{op}]({ONNX_PAGE.format(op)})" for op in sources[_plain(name.split(".")[1])]]
    if links:
        yield ""
        yield f"ONNX: {', '.join(links)}."


def signature(op_class: type[graph.GraphOp]) -> str:
    """``graph.pad(x, value) {low: list of ..., high: ...}``."""
    operands = []
    for name, kind in zip(op_class.operand_names, op_class.operand_kinds, strict=True):
        operands.append(name + ("?" if kind.optional else "*" if kind.slots > 1 else ""))
    attributes = [f"{name}: {kind.name}" for name, kind in op_class.attribute_kinds.items()]
    text = f"{op_class.OPERATION_NAME}({', '.join(operands)})"
    return f"{text} {{{', '.join(attributes)}}}" if attributes else text


def onnx_operators() -> str:
    """The ONNX operators with a converter: domain, first opset of each converter, file."""
    entries: dict[tuple[str, str], list[Converter]] = defaultdict(list)
    for converter in converters():
        entries[converter.domain, converter.op_type].append(converter)
    lines = ["# ONNX operators", "", NOTE, ""]
    lines += [
        f"{len(entries)} operators have a converter. An operator without one is expanded from its "
        "function body, the model's own or the one that ONNX ships. Nodes that have neither run on "
        "the host, or are reported together if the host cannot run them.",
        "",
        "A converter is valid from its opset to the next one in its row. "
        "[Operator support](support-matrix.md) has the test results of each operator.",
        "",
        "| operator | domain | from opset | converter |",
        "| --- | --- | --- | --- |",
    ]
    for (domain, op_type), found in sorted(entries.items()):
        opsets = ", ".join(str(converter.since) for converter in found)
        files = sorted({_file(converter.function) for converter in found})
        paths = ", ".join(f"`{name}`" for name in files)
        title = op_type if domain else f"[{op_type}]({ONNX_PAGE.format(op_type)})"
        lines.append(f"| {title} | {domain or 'ai.onnx'} | {opsets} | {paths} |")
    return "\n".join(lines) + "\n"


def onnx_sources() -> dict[str, list[str]]:
    """Standard operators by the normalised name of the graph op: ``leakyrelu``."""
    sources: dict[str, list[str]] = defaultdict(list)
    for op_type in sorted({c.op_type for c in converters() if not c.domain}):
        sources[_plain(op_type)].append(op_type)
    return sources


def quantization_page() -> str:
    """``docs/quantization.md`` with an up-to-date table."""
    lines = quantize_zoo.page_lines(quantize_zoo.read_rows(QUANTIZATION_RESULTS))
    return with_generated(QUANTIZATION_PAGE, "docs/quantization.json", lines)


def zoo_page() -> str:
    """``docs/zoo.md`` with up-to-date tables."""
    return with_generated(ZOO_PAGE, "docs/zoo.json", page_lines(read_run(ZOO_RESULTS)))


def _plain(name: str) -> str:
    """A name normalised for comparison; graph ops shorten ``normalization`` to ``norm``."""
    return name.replace("_", "").lower().replace("normalization", "norm")


def _module(thing: Any) -> str:
    return thing.__module__.rpartition(".")[2]


def _file(thing: Any) -> str:
    return f"{thing.__module__.removeprefix('graphc.').replace('.', '/')}.py"


def _markdown(docstring: str) -> str:
    """A docstring as Markdown, which quotes code with one backtick instead of two."""
    return docstring.replace("``", "`")


PAGES: dict[str, Callable[[], str]] = {
    "graph-dialect.md": graph_dialect,
    "onnx-operators.md": onnx_operators,
    "support-matrix.md": support_matrix,
    "targets.md": targets_page,
    "errors.md": errors_page,
    "reliability.md": reliability_page,
    "zoo.md": zoo_page,
    "quantization.md": quantization_page,
}


def stale() -> Iterable[str]:
    """Names of the pages whose text differs from the output of `make docs`."""
    for name, make in PAGES.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != make():
            yield name


if __name__ == "__main__":
    main()
