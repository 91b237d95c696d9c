"""Digests of lowered programs: a refactoring that changes no code changes none of them.

::

    python test/lowering_digests.py -o before.json --texts before/
    python test/lowering_digests.py --compare before.json --texts after/

Each model of ``weightless/`` and ``exported/`` is lowered for each target. Names of symbols and of
constants, locations and metadata are normalised; the data of constants counts. With ``--texts``
the programs are written, too, so that ``diff -r before after`` shows what has changed.
"""

import argparse
import hashlib
import itertools
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx

from graphc.benchmarks.weightless import filled
from graphc.compiler.driver import begin, make_options
from graphc.compiler.model_signature import main_function
from graphc.dialects.graph import elements
from graphc.mlir import ir

HERE = Path(__file__).parent
TARGETS = (
    "cpu:x86-64-v3", "cpu:znver4", "cpu:sapphirerapids", "cpu:arm64",
    "vulkan:portable", "cuda:sm_80",
)  # fmt: skip
"""AVX2, AVX-512, AMX and NEON, SPIR-V and PTX: each way in which passes and kernels may go."""
PRECISIONS = ("f32", "strict")
"""The second for the first target alone."""

_SYMBOL = re.compile(r'@(?:"[^"]*"|[\w$.-]+)|(?<=sym_name = )"[^"]*"')
_BLOB = re.compile(r"dense_resource<([^>]*)>")


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Names and models, with weights drawn for them."""
    for path in [*sorted(HERE.glob("weightless/*.onnx")), *sorted(HERE.glob("exported/*.onnx"))]:
        yield path.stem, filled(onnx.load(path))


def lowered(model: onnx.ModelProto, target: str, precision: str) -> ir.Module:
    """`model` as the backend for `target` would be given it, without metadata."""
    compilation = begin(model, make_options(target, threads=2, precision=precision, cache=False))
    compilation.graph_passes()
    compilation.lower()
    del main_function(compilation.module).attributes["iree.reflection"]
    return compilation.module


def normalised(module: ir.Module) -> str:
    """The program as text in which names say nothing but what is the same, and no data of blobs."""
    text = module.operation.get_asm(
        print_generic_op_form=True, large_resource_limit=0, enable_debug_info=False
    ).partition("{-#")[0]
    return _numbered(_numbered(text, _SYMBOL, "@{}"), _BLOB, "dense_resource<{}>")


def _numbered(text: str, pattern: re.Pattern[str], form: str) -> str:
    """`text` with a number in place of each name, in the order in which they come up."""
    numbers: dict[str, int] = {}
    return pattern.sub(
        lambda found: form.format(numbers.setdefault(found[0].strip('@"'), len(numbers))), text
    )


def blobs(module: ir.Module) -> Iterator[np.ndarray]:
    """The constants whose data the text leaves out, in the program's order."""
    found: list[ir.Attribute] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        attributes = op.attributes.values()
        found.extend(each for each in attributes if isinstance(each, ir.DenseResourceElementsAttr))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return map(elements.read, found)


def digest(text: str, module: ir.Module) -> str:
    """The digest of a program and its constants."""
    found = hashlib.sha256(text.encode())
    for array in blobs(module):
        found.update(np.ascontiguousarray(array))
    return found.hexdigest()


def digests(targets: Sequence[str], only: str, texts: Path | None) -> dict[str, str]:
    """The digests of all models whose names contain `only`, by model, target and precision."""
    found = {}
    for (name, model), target in itertools.product(models(), targets):
        for precision in PRECISIONS if target == TARGETS[0] else PRECISIONS[:1]:
            if only not in name:
                continue
            module = lowered(model, target, precision)
            text = normalised(module)
            key = f"{name} {target} {precision}"
            found[key] = digest(text, module)
            print(key, found[key][:16], flush=True)
            if texts is not None:
                (texts / f"{key.replace(' ', '_').replace(':', '_')}.mlir").write_text(text)
    return found


def compare(before: Path, now: dict[str, str]) -> int:
    """Say what differs from the digests in the file `before`; the exit status."""
    then = json.loads(before.read_text())
    missing = [key for key in now if key not in then]
    changed = [key for key in now if key in then and then[key] != now[key]]
    for key in changed:
        print(f"changed: {key}")
    for key in missing:
        print(f"not in {before}: {key}")
    print(f"{len(now) - len(changed) - len(missing)} of {len(now)} programs are what they were")
    return 1 if changed or missing or not now else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Digest what models are lowered to.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json")
    parser.add_argument("--compare", type=Path, metavar="FILE.json")
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="write the programs, too")
    parser.add_argument("--targets", nargs="+", default=TARGETS, metavar="TARGET")
    parser.add_argument("--only", default="", metavar="TEXT", help="models with this in their name")
    options = parser.parse_args(arguments)
    if options.texts is not None:
        options.texts.mkdir(parents=True, exist_ok=True)
    found = digests(options.targets, options.only, options.texts)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    return 0 if options.compare is None else compare(options.compare, found)


if __name__ == "__main__":
    sys.exit(main())
