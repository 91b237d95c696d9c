// A strided slice, transposed, of which a loop reads computed positions: the loop then reads the slice
// itself (DispatchCreation/ElementwiseOpFusion.cpp, GatherFusionPattern), as in strided_slices.mlir.
// Workaround: passes/linalg/workarounds/strided_slices.py, WorkaroundStridedSlices
// TARGET: cpu
// PASS: workaround-strided-slices
// FAILS: LLVM Translation failed for operation: builtin.unrealized_conversion_cast

func.func @main(%x: tensor<8x8xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %slice = tensor.extract_slice %x[0, 0] [4, 4] [1, 2] : tensor<8x8xf32> to tensor<4x4xf32>
  %turned_empty = tensor.empty() : tensor<4x4xf32>
  %turned = linalg.transpose ins(%slice : tensor<4x4xf32>) outs(%turned_empty : tensor<4x4xf32>) permutation = [1, 0]
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: i64, %out: f32):
    %p = arith.index_cast %in : i64 to index
    %element = tensor.extract %turned[%p, %p] : tensor<4x4xf32>
    linalg.yield %element : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
