// A dynamic value that is returned, and broadcast over two adjacent axes. Both results are computed in
// one dispatch, of which DispatchCreation/CollapseDimensions.cpp collapses these axes; for the sizes of
// one result it takes those of the other.
// Workaround: passes/linalg/workarounds/collapsed_broadcasts.py, WorkaroundCollapsedBroadcasts
// TARGET: cpu
// PASS: workaround-collapsed-broadcasts

#m = affine_map<(i, j, k) -> (i, j, k)>
#r = affine_map<(i, j, k) -> (i)>
#v = affine_map<(i) -> (i)>
func.func @main(%x: tensor<?x?x?xf32>) -> (tensor<?xf32>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %f0 = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?x?xf32>
  %h = tensor.dim %x, %c1 : tensor<?x?x?xf32>
  %w = tensor.dim %x, %c2 : tensor<?x?x?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %zero = linalg.fill ins(%f0 : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<?x?x?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %neg = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %wide = tensor.empty(%n, %h, %w) : tensor<?x?x?xf32>
  %difference = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %neg : tensor<?x?x?xf32>, tensor<?xf32>) outs(%wide : tensor<?x?x?xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %y = arith.subf %in, %m : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  return %neg, %difference : tensor<?xf32>, tensor<?x?x?xf32>
}
