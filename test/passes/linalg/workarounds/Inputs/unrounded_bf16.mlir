// Two sums of bf16 in a row. Within a dispatch they are computed in f32 (ConvertBf16ArithToF32Pass,
// Codegen/Common/), and the pair of conversions that would round between them is folded.
// Workaround: passes/graph_to_linalg/bfloat16.py, rounded
// TARGET: cpu

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.truncf %a : f32 to bf16
    %once = arith.addf %b, %one : bf16
    %twice = arith.addf %once, %one : bf16
    %c = arith.extf %twice : bf16 to f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}
