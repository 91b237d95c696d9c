"""Models whose results have sizes that values decide, in ONNX's text form.

All take `x` (12 floats) and `k` (one int64). `k` decides the size of each result.
"""

import numpy as np
import onnx

POSITIONS = ", ".join(map(str, range(12)))

BODIES = {
    "slice": "y = Slice(x, zero, k)",
    "slice_backwards": "last = Sub(k, one) y = Slice(x, last, floor, zero, back)",
    "nonzero": "y = NonZero(below)",
    "gather_nonzero": "found = NonZero(below) where = Squeeze(found, zero) y = Gather(x, where)",
    "compress": "y = Compress<axis = 0>(x, below)",
    "range": "n = Squeeze(k) y = Range(start, n, step)",
    "expand": "y = Expand(first, k)",
    "tile": "y = Tile(first, k)",
    "constant_of_shape": "y = ConstantOfShape(k)",
    "reshape": "sizes = Concat<axis = 0>(some, rest) y = Reshape(x, sizes)",
    "pad": "pads = Concat<axis = 0>(zero, k) y = Pad(x, pads)",
    "pad_wrap": 'pads = Concat<axis = 0>(k, zero) y = Pad<mode = "wrap">(x, pads)',
    "top_k": "y, z = TopK(x, k)",
    "unique": "least = Min(positions, k) y, z, inverse, counts = Unique(least)",
    "one_hot": "y = OneHot(positions, some, off_on)",
    "resize_sizes": "y = Resize(x, , , some)",
    "resize_scales": (
        "float = Cast<to = 1>(some) scales = Div(float, twelve) y = Resize(x, , scales)"
    ),
    "split": "other = Sub(total, k) sizes = Concat<axis = 0>(k, other) y, z = Split(x, sizes)",
    "center_crop_pad": "y = CenterCropPad(x, k)",
    "hann_window": "n = Squeeze(some) y = HannWindow(n)",
    "mask_of_lengths": (
        "n = Squeeze(k) range = Range(start, n, step) column = Unsqueeze(positions, one) "
        "y = Less(range, column)"
    ),
    "non_max_suppression": (
        "corner = Mul(x, twelve) flat = Mul(x, x0) far = Add(corner, x1) one_f = Add(flat, x1) "
        "parts = Concat<axis = 0>(corner, flat, far, one_f) table = Reshape(parts, four_twelve) "
        "boxes = Transpose<perm = [0, 2, 1]>(table) kept = Cast<to = 1>(below) "
        "scores = Reshape(kept, unit_scores) "
        "y = NonMaxSuppression(boxes, scores, total, half, half)"
    ),
    "if_of_two_sizes": (
        "few = Less(k, five) is_few = Squeeze(few) "
        "y = If(is_few)<then_branch = t () => (p) { p = Identity(x) },"
        " else_branch = e () => (q) { q = Concat<axis = 0>(x, x) }>"
    ),
    "if_of_slices": (
        "few = Less(k, five) is_few = Squeeze(few) "
        "y = If(is_few)<then_branch = t () => (p) { p = Slice(x, zero, k) },"
        " else_branch = e () => (q) { q = Slice(x, one, k) }>"
    ),
    "loop_results": (
        "n = Squeeze(k) y_last, y = Loop(n, , first)<body = b (int64 i, bool c, float[1] s)"
        " => (bool c_out, float[1] s_out, float[1] o) {"
        " c_out = Identity(c) s_out = Add(s, s) o = Identity(s) }>"
    ),
    "loop_that_grows": (
        "n = Squeeze(k) y = Loop(n, , first)<body = b (int64 i, bool c, float[n] s)"
        " => (bool c_out, float[m] s_out) {"
        " c_out = Identity(c) s_out = Concat<axis = 0>(s, first) }>"
    ),
    "loop_until": (
        "y_last, y = Loop(, going, first)<body = b (int64 i, bool c, float[1] s)"
        " => (bool c_out, float[1] s_out, float[1] o) {"
        " at = Unsqueeze(i, zero) here = Less(at, k) c_out = Squeeze(here)"
        " s_out = Add(s, s) o = Identity(s) }>"
    ),
    "behind_elementwise": "part = Slice(x, zero, k) square = Mul(part, part) y = Sqrt(square)",
    "behind_reduction": (
        "part = Slice(x, zero, k) row = Unsqueeze(part, zero) column = Unsqueeze(part, one) "
        "products = MatMul(column, row) y = ReduceMax<keepdims = 0>(products, one)"
    ),
    "several": (
        "y = Slice(x, zero, k) z = NonZero(below) whole = Neg(x) least = ReduceMin<keepdims = 0>(x)"
    ),
}
"""Nodes by model name; they may use `CONSTANTS` and the nodes before them."""

RESULTS = {"several": "y, z, whole, least", "top_k": "y, z", "split": "y, z"}
RESULTS["unique"] = "y, z, inverse, counts"

CONSTANTS = f"""
    zero = Constant<value_ints = [0]>()
    one = Constant<value_ints = [1]>()
    five = Constant<value_ints = [5]>()
    total = Constant<value_ints = [12]>()
    rest = Constant<value_ints = [-1]>()
    back = Constant<value_ints = [-1]>()
    floor = Constant<value_ints = [-13]>()
    four_twelve = Constant<value_ints = [1, 4, 12]>()
    unit_scores = Constant<value_ints = [1, 1, 12]>()
    positions = Constant<value_ints = [{POSITIONS}]>()
    start = Constant<value_int = 0>()
    step = Constant<value_int = 1>()
    off_on = Constant<value_floats = [0.0, 1.0]>()
    x0 = Constant<value_floats = [0.0]>()
    x1 = Constant<value_floats = [1.0]>()
    half = Constant<value_floats = [0.5]>()
    twelve = Constant<value_floats = [12.0]>()
    going = Constant<value = bool {{1}}>()
    some = Max(k, one)
    below = Less(positions, k)
    first = Slice(x, zero, one)
"""


def data_dependent_model(name: str) -> onnx.ModelProto:
    """The model of that name; its outputs declare neither types nor sizes that say more."""
    outputs = RESULTS.get(name, "y")
    return onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]>'
        f"{name} (float[12] x, int64[1] k) => ({outputs}) {{ {CONSTANTS} {BODIES[name]} }}"
    )


def feeds(k: int) -> dict[str, np.ndarray]:
    """Inputs for results of size `k`, or that `k` decides; `x` differs from that of others."""
    return {"x": np.arange(100 * k, 100 * k + 12, dtype=np.float32), "k": np.array([k])}
