// Elements minus the sum of their column, in one dispatch. Each workgroup sums one column and then
// computes all elements, with the sums of columns that other workgroups may not have written yet
// (setReductionConfig, Codegen/SPIRV/KernelConfig.cpp: SubgroupReduce).
// Workaround: passes/graph_to_linalg/reduction.py, complete
// TARGET: vulkan:llvmpipe

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<128xf32>
  %z = linalg.fill ins(%zero : f32) outs(%n : tensor<128xf32>) -> tensor<128xf32>
  %s = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<64x128xf32>) outs(%z : tensor<128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %o : f32
    linalg.yield %b : f32
  } -> tensor<128xf32>
  // WORKAROUND %t = iree_tensor_ext.compute_barrier.end %s : tensor<128xf32> -> tensor<128xf32>
  %e = tensor.empty() : tensor<64x128xf32>
  %y = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<64x128xf32>, tensor<128xf32>) outs(%e : tensor<64x128xf32>) { // FAULT
  // WORKAROUND %y = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel"]} ins(%x, %t : tensor<64x128xf32>, tensor<128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.subf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}
