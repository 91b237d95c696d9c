// A pool over two axes, and a user with loops that the pool lacks. The tiles of the dispatch are
// the pool's (Codegen/LLVMCPU/KernelDispatch.cpp), so those loops are not tiled, and vectors get the
// greatest sizes that they may have (inferSizesFromIR, Codegen/Utils/Utils.cpp).
// Workaround: passes/graph_to_linalg/pooling.py, _pool_axes
// TARGET: cpu
// FAILS: One or more operations with large vector sizes

#image = affine_map<(n, c, d, h, w) -> (n, d, h, w, c)>
#counts = affine_map<(n, c, d, h, w) -> (d, h, w, 0)>
#result = affine_map<(n, c, d, h, w) -> (n, c, d, h, w)>
!counts = tensor<2x?x?x1xf32>
!image = tensor<?x2x?x?x?xf32>
!result = tensor<?x?x2x?x?xf32>
func.func @main(%x: !image, %ones: !counts, %n: index, %h: index, %w: index, %c: index) -> !result {
  %z = arith.constant 0.0 : f32
  %k = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty(%h, %w) : !counts
  %i = linalg.fill ins(%z : f32) outs(%e : !counts) -> !counts
  %s = linalg.pooling_nhwc_sum ins(%ones, %k : !counts, tensor<2x2xf32>) outs(%i : !counts) -> !counts // FAULT
  // WORKAROUND %p = linalg.pooling_nhwc_sum ins(%ones, %k : !counts, tensor<2x2xf32>) outs(%i : !counts) -> !counts
  // WORKAROUND %s = iree_tensor_ext.compute_barrier.end %p : !counts {%h, %w} -> !counts
  %f = tensor.empty(%n, %c, %h, %w) : !result
  %y = linalg.generic {indexing_maps = [#image, #counts, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%x, %s : !image, !counts) outs(%f : !result) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> !result
  return %y : !result
}
