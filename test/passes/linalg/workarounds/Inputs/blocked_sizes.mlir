// A pool of an axis of unknown even length, and an op on its elements. The axis is split into one of
// length 2 and another for the latter alone (BlockDynamicDimensionsPass, Codegen/Common/), which then
// no loop over workgroups contains.
// Workaround: passes/graph_to_linalg/pooling.py, _named_pool
// Workaround: runtime/targets/base.py, SIMPLE_LOOPS
// TARGET: cuda
// FAILS: restricted to workgroup distributed contexts

#m = affine_map<(i, j, k, l) -> (i, j, k, l)>
func.func @main(%x: tensor<2x9x?x8xf32>) -> tensor<2x8x?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %two = arith.constant 2 : index
  %width = tensor.dim %x, %two : tensor<2x9x?x8xf32>
  %half = arith.divui %width, %two : index
  %even = arith.muli %half, %two : index
  %w = tensor.empty() : tensor<2x1xf32>
  %e = tensor.empty(%even) : tensor<2x8x?x8xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<2x8x?x8xf32>) -> tensor<2x8x?x8xf32>
  %p = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<2x9x?x8xf32>, tensor<2x1xf32>) outs(%f : tensor<2x8x?x8xf32>) -> tensor<2x8x?x8xf32>
  // WORKAROUND %q = iree_tensor_ext.compute_barrier.end %p : tensor<2x8x?x8xf32>{%even} -> tensor<2x8x?x8xf32>
  %y = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%p : tensor<2x8x?x8xf32>) outs(%e : tensor<2x8x?x8xf32>) { // FAULT
  // WORKAROUND %y = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q : tensor<2x8x?x8xf32>) outs(%e : tensor<2x8x?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<2x8x?x8xf32>
  return %y : tensor<2x8x?x8xf32>
}
