// A reduction of gathered elements, in SPIR-V. The threads that share a row exchange the vector of
// positions, of type index, through workgroup memory (Codegen/Common/GPU/VectorReductionToGPU.cpp,
// allocateGlobalSharedMemory), which the conversion to SPIR-V rejects for this type.
// Workaround: passes/graph_to_linalg/indexing.py, _gathered
// TARGET: vulkan:llvmpipe
// FAILS: failed to legalize operation 'memref.alloc'

#i = affine_map<(i, j) -> (j)>
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<512x64xf32>, %p: tensor<128xi32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %g = linalg.generic {indexing_maps = [#i, #m], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<128xi32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: i32, %o: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %a : i32 to index
    %element = tensor.extract %x[%row, %column] : tensor<512x64xf32>
    linalg.yield %element : f32
  } -> tensor<512x128xf32>
  %v = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%v : tensor<512xf32>) -> tensor<512xf32>
  // WORKAROUND %b = iree_tensor_ext.compute_barrier.start %g : tensor<512x128xf32> -> tensor<512x128xf32>
  // WORKAROUND %c = iree_tensor_ext.compute_barrier.end %b : tensor<512x128xf32> -> tensor<512x128xf32>
  %c = tensor.cast %g : tensor<512x128xf32> to tensor<512x128xf32> // FAULT
  %y = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<512x128xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %a, %s : f32
    linalg.yield %t : f32
  } -> tensor<512xf32>
  return %y : tensor<512xf32>
}
