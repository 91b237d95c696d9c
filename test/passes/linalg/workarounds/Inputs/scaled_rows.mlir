// A sum over rows of elements that are multiplied by a scalar. Codegen/LLVMGPU/
// LLVMGPUVectorDistribute.cpp finds no layout for the scalar. So do sums of values converted to i64.
// Workaround: runtime/targets/base.py, SIMPLE_LOOPS
// TARGET: cuda
// FAILS: failed to distribute

func.func @main(%x: tensor<2x64xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %empty = tensor.empty() : tensor<2xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2x64xf32>) outs(%zeros : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %half : f32
    %y = arith.addf %m, %o : f32
    linalg.yield %y : f32
  } -> tensor<2xf32>
  return %sum : tensor<2xf32>
}
