"""Models with If, Loop and Scan, written as text, and a comparison with ONNX Runtime."""

import contextlib

import numpy as np
import onnx.parser
from numerics import compare, compile_model, evaluate, output_names, run_onnxruntime

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def parse(signature, body, header=HEADER):
    return onnx.parser.parse_model(f"{header}\nmodel {signature}\n{{\n{body}\n}}")


def check(model, *runs, expect=run_onnxruntime):
    """Compile `model` once, and compare it and its numpy meaning on the feeds of every run."""
    with contextlib.closing(compile_model(model)) as compiled:
        for feeds in runs:
            expected, names = expect(model, feeds), output_names(model)
            compare(evaluate(model, feeds), expected, names, what="evaluated")
            compare(compiled.run(None, feeds), expected, names)


def floats(*shape, seed=7):
    """Drawn numbers, the same ones in each call, whichever tests ran before."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)
