// A reduction that another reduction of the same rows and an elementwise op read. Fused into one
// dispatch, it is accumulated again for every vector of the other one, if rows end within a vector
// (DispatchCreation/FormDispatchRegions.cpp, with fuse-multi-use).
// Workaround: runtime/targets/cpu.py, --iree-dispatch-creation-fuse-multi-use
// TARGET: cpu
// WITHOUT: --iree-dispatch-creation-fuse-multi-use

#all = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j)>
func.func @main(%x: tensor<?x28x4x4xf32>) -> tensor<?x4x28xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?x28x4x4xf32>
  %n4 = arith.muli %n, %c4 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n4) : tensor<?x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  %wide = tensor.empty(%n4) : tensor<?x4x28xf32>
  %e1 = tensor.empty(%n) : tensor<?x4x4x28xf32>
  %turned = linalg.transpose ins(%x : tensor<?x28x4x4xf32>) outs(%e1 : tensor<?x4x4x28xf32>) permutation = [0, 3, 2, 1]
  %t = tensor.collapse_shape %turned [[0, 1], [2], [3]] : tensor<?x4x4x28xf32> into tensor<?x4x28xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t : tensor<?x4x28xf32>) outs(%zeros : tensor<?x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<?x4xf32>
  %squares = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t, %sum : tensor<?x4x28xf32>, tensor<?x4xf32>) outs(%zeros : tensor<?x4xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %d = arith.subf %a, %s : f32
    %y = arith.addf %d, %o : f32
    linalg.yield %y : f32
  } -> tensor<?x4xf32>
  %norm = linalg.generic {indexing_maps = [#all, #row, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %sum, %squares : tensor<?x4x28xf32>, tensor<?x4xf32>, tensor<?x4xf32>) outs(%wide : tensor<?x4x28xf32>) {
  ^bb0(%a: f32, %s: f32, %v: f32, %o: f32):
    %d = arith.subf %a, %s : f32
    %y = arith.mulf %d, %v : f32
    linalg.yield %y : f32
  } -> tensor<?x4x28xf32>
  return %norm : tensor<?x4x28xf32>
}
