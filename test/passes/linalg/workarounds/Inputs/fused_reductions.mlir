// A layer normalization that returns its mean, for SPIR-V. Aggressive fusion makes one dispatch of both
// reductions and the loop over the elements, whose vectors have 8 elements; SPIR-V has up to 4.
// Workaround: runtime/targets/base.py, SPIRV_FLAGS
// TARGET: vulkan:llvmpipe
// WITHOUT: --iree-dispatch-creation-enable-aggressive-fusion
// FAILS: failed to legalize operation 'arith.constant'

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<24x5xf32>) -> (tensor<24x5xf32>, tensor<24xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x5xf32>
  %v = tensor.empty() : tensor<24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%v : tensor<24xf32>) -> tensor<24xf32>
  %s = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<24x5xf32>) outs(%f : tensor<24xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<24xf32>
  %q = linalg.generic {indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]} ins(%x, %s : tensor<24x5xf32>, tensor<24xf32>) outs(%f : tensor<24xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %p = arith.mulf %d, %d : f32
    %y = arith.addf %p, %o : f32
    linalg.yield %y : f32
  } -> tensor<24xf32>
  %z = linalg.generic {indexing_maps = [#m, #r, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%x, %s, %q : tensor<24x5xf32>, tensor<24xf32>, tensor<24xf32>) outs(%e : tensor<24x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %p = arith.mulf %d, %c : f32
    linalg.yield %p : f32
  } -> tensor<24x5xf32>
  return %z, %s : tensor<24x5xf32>, tensor<24xf32>
}
