// A strided slice of which a loop reads computed positions. Vectorization of the loop treats the
// elements of the slice as contiguous (Codegen/Common/GenericVectorization.cpp), and the conversion to
// LLVM leaves casts of the strided memref behind.
// Workaround: passes/linalg/workarounds/strided_slices.py, WorkaroundStridedSlices
// TARGET: cpu
// PASS: workaround-strided-slices
// FAILS: LLVM Translation failed for operation: builtin.unrealized_conversion_cast

func.func @main(%x: tensor<8xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %slice = tensor.extract_slice %x[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: i64, %out: f32):
    %p = arith.index_cast %in : i64 to index
    %element = tensor.extract %slice[%p] : tensor<4xf32>
    linalg.yield %element : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
