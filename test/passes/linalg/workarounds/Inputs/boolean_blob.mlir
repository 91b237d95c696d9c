// A constant of booleans that is a blob. TypePropagationPass (Codegen/Common/TypePropagation.cpp) widens
// its elements, which it cannot iterate over.
// Workaround: dialects/graph/elements.py, _is_widened
// TARGET: cpu
// FAILS: ElementsAttr does not provide iteration facilities

func.func @main(%i: tensor<4xi64>) -> tensor<4xi1> {
  %c = arith.constant dense_resource<blob> : tensor<4xi1>
  %e = tensor.empty() : tensor<4xi1>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4xi1>) {
  ^bb0(%a: i64, %o: i1):
    %p = arith.index_cast %a : i64 to index
    %r = tensor.extract %c[%p] : tensor<4xi1>
    linalg.yield %r : i1
  } -> tensor<4xi1>
  return %y : tensor<4xi1>
}
{-# dialect_resources: { builtin: { blob: "0x0100000001000100" } } #-}
