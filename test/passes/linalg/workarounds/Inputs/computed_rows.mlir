// Computed rows of dynamic length that are returned and reduced, in one dispatch. For CUDA the rows get
// memory of their own in the kernel, which IREEComprehensiveBufferizePass (Codegen/Common/) rejects for
// a size that is not known.
// Workaround: passes/graph_to_linalg/normalization.py, behind_barrier
// TARGET: cuda
// FAILS: failed to bufferize op

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %k = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %k) : tensor<?x?xf32>
  %rows = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  // WORKAROUND %start = iree_tensor_ext.compute_barrier.start %rows : tensor<?x?xf32>{%n, %k} -> tensor<?x?xf32>
  // WORKAROUND %read = iree_tensor_ext.compute_barrier.end %start : tensor<?x?xf32>{%n, %k} -> tensor<?x?xf32>
  %read = tensor.cast %rows : tensor<?x?xf32> to tensor<?x?xf32> // FAULT
  %v = tensor.empty(%k) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%v : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["reduction", "parallel"]} ins(%read : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %read, %sum : tensor<?x?xf32>, tensor<?xf32>
}
