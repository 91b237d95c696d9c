// A small constant of bf16 that is a blob, and so part of a kernel. ConvertBf16ArithToF32Pass (Codegen/
// Common/) widens the type of the constant and not its elements.
// Workaround: dialects/graph/elements.py, INLINE_BF16
// TARGET: cpu
// FAILS: 'arith.constant' op failed to verify that all of {value, result} have same type

func.func @main(%i: tensor<4xi64>) -> tensor<4xbf16> {
  %c = arith.constant dense_resource<blob> : tensor<2xbf16>
  %e = tensor.empty() : tensor<4xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4xbf16>) {
  ^bb0(%a: i64, %o: bf16):
    %p = arith.index_cast %a : i64 to index
    %r = tensor.extract %c[%p] : tensor<2xbf16>
    linalg.yield %r : bf16
  } -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}
{-# dialect_resources: { builtin: { blob: "0x0200000001000200" } } #-}
