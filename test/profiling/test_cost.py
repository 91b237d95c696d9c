"""Tests of the work of kernels and of the memory that they read and write."""

import pytest

from graphc.mlir import ir
from graphc.profiling.cost import Cost, kernel_cost

EXECUTABLE = """
"stream.executable"() <{{sym_name = "e"}}> ({{
  "stream.executable.export"() <{{function_ref = @k, sym_name = "k"}}> ({{}}) {attributes}
    : () -> ()
  builtin.module {{
    func.func @k(%a: !stream.binding, %b: !stream.binding, %m: index) {{
      %zero = arith.constant 0 : index
      {body}
      return
    }}
  }}
}}) : () -> ()
"""
BINDING = '"stream.binding.subspan"(%{name}, %zero) : (!stream.binding, index) -> {type}'
WRAPPED = "!iree_tensor_ext.dispatch.tensor<readonly:tensor<{}>>"


def cost(*lines, attributes=""):
    text = EXECUTABLE.format(body="\n".join(lines), attributes=attributes)
    context = ir.Context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(text)
        return kernel_cost(module.body.operations[0].operation)


def binding(name, type_):
    return f"%{name}_memory = " + BINDING.format(name=name, type=type_)


def test_kernels_of_our_own_say_what_they_compute():
    lines = [binding("a", "memref<16x8xf32>"), binding("b", "memref<3xf16>")]
    assert cost(*lines, attributes="{flops = 1234 : i64}") == Cost(1234, 16 * 8 * 4 + 3 * 2)


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ("2x3x4xf32", 96),
        ("f64", 8),
        ("5xi1", 1),
        ("3xi4", 2),
        ("7xcomplex<f32>", 56),
        ("?x4xf32", None),
    ],
)
def test_bytes_of_tensors(type_, size):
    assert cost(binding("a", WRAPPED.format(type_))).bytes == size


def test_products_multiply_and_add():
    lines = [
        "%x = tensor.empty() : tensor<6x5xf32>",
        "%w = tensor.empty() : tensor<5x7xf32>",
        "%y = tensor.empty() : tensor<6x7xf32>",
        "%r = linalg.matmul ins(%x, %w : tensor<6x5xf32>, tensor<5x7xf32>) "
        "outs(%y : tensor<6x7xf32>) -> tensor<6x7xf32>",
    ]
    assert cost(*lines).flops == 2 * 6 * 5 * 7


def test_windows_are_counted_by_their_kernel():
    lines = [
        "%x = tensor.empty() : tensor<1x9x9x3xf32>",
        "%w = tensor.empty() : tensor<3x3x3x8xf32>",
        "%y = tensor.empty() : tensor<1x7x7x8xf32>",
        "%r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x9x9x3xf32>, tensor<3x3x3x8xf32>) "
        "outs(%y : tensor<1x7x7x8xf32>) -> tensor<1x7x7x8xf32>",
    ]
    assert cost(*lines).flops == 2 * 7 * 7 * 8 * 3 * 3 * 3


def test_elementwise_arithmetic_counts_and_comparisons_and_casts_do_not():
    lines = [
        "%x = tensor.empty() : tensor<4x5xf32>",
        "%r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
        'affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} '
        "ins(%x : tensor<4x5xf32>) outs(%x : tensor<4x5xf32>) {",
        "^bb0(%p: f32, %q: f32):",
        "%0 = math.exp %p : f32",
        "%1 = arith.addf %0, %p : f32",
        "%2 = arith.cmpf ogt, %1, %p : f32",
        "%3 = arith.select %2, %1, %p : f32",
        "linalg.yield %3 : f32",
        "} -> tensor<4x5xf32>",
    ]
    assert cost(*lines).flops == 2 * 4 * 5


def test_sizes_of_run_time_leave_the_count_open():
    lines = [
        "%x = tensor.empty(%m) : tensor<?x5xf32>",
        "%w = tensor.empty() : tensor<5x7xf32>",
        "%y = tensor.empty(%m) : tensor<?x7xf32>",
        "%r = linalg.matmul ins(%x, %w : tensor<?x5xf32>, tensor<5x7xf32>) "
        "outs(%y : tensor<?x7xf32>) -> tensor<?x7xf32>",
    ]
    assert cost(*lines).flops is None


def test_moving_elements_is_no_arithmetic():
    lines = [
        "%c = arith.constant 0.0 : f32",
        "%x = tensor.empty() : tensor<4xf32>",
        "%r = linalg.fill ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>",
    ]
    assert cost(*lines).flops == 0
