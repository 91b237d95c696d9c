// A pool of windows that an elementwise op broadcasts over two axes of dynamic sizes. Both are in one
// dispatch, whose root is the pool; loops that the pool has not are not tiled, and become vectors of
// the largest size there is (Codegen/LLVMCPU/KernelDispatch.cpp).
// Workaround: passes/linalg/workarounds/broadcast_windows.py, WorkaroundBroadcastWindows
// TARGET: cpu
// PASS: workaround-broadcast-windows
// FAILS: One or more operations with large vector sizes

#id = affine_map<(a, b, c, d, e, f) -> (a, b, c, d, e, f)>
#of = affine_map<(a, b, c, d, e, f) -> (b, c, d, e)>
func.func @main(%x: tensor<1x2x3x?xf32>, %z: tensor<?x1x2x2x?x?xf32>) -> tensor<?x1x2x2x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %f0 = arith.constant 0.0 : f32
  %n = tensor.dim %z, %c0 : tensor<?x1x2x2x?x?xf32>
  %w = tensor.dim %z, %c4 : tensor<?x1x2x2x?x?xf32>
  %m = tensor.dim %z, %c5 : tensor<?x1x2x2x?x?xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty(%w) : tensor<1x2x2x?xf32>
  %i = linalg.fill ins(%f0 : f32) outs(%e : tensor<1x2x2x?xf32>) -> tensor<1x2x2x?xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, c, d, e, k, l) -> (b, c, d + k, e * 2 + l * 2)>, affine_map<(b, c, d, e, k, l) -> (k, l)>, affine_map<(b, c, d, e, k, l) -> (b, c, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %window : tensor<1x2x3x?xf32>, tensor<2x2xf32>) outs(%i : tensor<1x2x2x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x2x2x?xf32>
  %r = tensor.empty(%n, %w, %m) : tensor<?x1x2x2x?x?xf32>
  %y = linalg.generic {indexing_maps = [#id, #of, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%z, %p : tensor<?x1x2x2x?x?xf32>, tensor<1x2x2x?xf32>) outs(%r : tensor<?x1x2x2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<?x1x2x2x?x?xf32>
  return %y : tensor<?x1x2x2x?x?xf32>
}
