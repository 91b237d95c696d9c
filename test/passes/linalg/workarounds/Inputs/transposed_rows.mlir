// Rows of unknown length, an op on their elements that reads a reduction of them, and a transpose that
// makes them columns. The vectors that are written have two axes, which nothing unrolls for SPIR-V
// (ConvertToSPIRVPass, Codegen/SPIRV/).
// Workaround: passes/graph_to_linalg/movement.py, transpose_tensor
// TARGET: vulkan:llvmpipe
// FAILS: op with rank > 1 should be broken down by prior passes

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<64x?xf32>) -> tensor<?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : tensor<64x?xf32>
  %v = tensor.empty() : tensor<64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%v : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x?xf32>) outs(%i : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %e = tensor.empty(%n) : tensor<64x?xf32>
  %d = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x?xf32>, tensor<64xf32>) outs(%e : tensor<64x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<64x?xf32>
  %t = tensor.empty(%n) : tensor<?x64xf32>
  %y = linalg.transpose ins(%d : tensor<64x?xf32>) outs(%t : tensor<?x64xf32>) permutation = [1, 0] // FAULT
  // WORKAROUND %q = iree_tensor_ext.compute_barrier.end %d : tensor<64x?xf32>{%n} -> tensor<64x?xf32>
  // WORKAROUND %y = linalg.transpose ins(%q : tensor<64x?xf32>) outs(%t : tensor<?x64xf32>) permutation = [1, 0]
  return %y : tensor<?x64xf32>
}
