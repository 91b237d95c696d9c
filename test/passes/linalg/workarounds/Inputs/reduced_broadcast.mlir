// A sum of booleans along an axis that they are broadcast over. IREE computes them, and what extends
// them, in the dispatch of the sum (DispatchCreation/FusionUtils.cpp and FormDispatchRegions.cpp); they
// alone have the extent of the loop, so that they cannot be fused, and all of them lie on the stack.
// Workaround: passes/linalg/workarounds/reduced_splats.py, WorkaroundReducedSplats
// PASS: workaround-reduced-splats
// TARGET: cpu
// FAILS: exceeded stack allocation limit

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<7x1xf32>, %z: tensor<7x?xf32>) -> tensor<7xi32> {
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  %i0 = arith.constant 0 : i32
  %n = tensor.dim %z, %c1 : tensor<7x?xf32>
  %d = tensor.empty(%n) : tensor<7x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, 0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7x1xf32>) outs(%d : tensor<7x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<7x?xf32>
  %e = tensor.empty(%n) : tensor<7x?xi1>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<7x?xf32>) outs(%e : tensor<7x?xi1>) {
  ^bb0(%a: f32, %o: i1):
    %c = arith.cmpf ogt, %a, %half : f32
    linalg.yield %c : i1
  } -> tensor<7x?xi1>
  %w = tensor.empty(%n) : tensor<7x?xi32>
  %k = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<7x?xi1>) outs(%w : tensor<7x?xi32>) {
  ^bb0(%a: i1, %o: i32):
    %c = arith.extui %a : i1 to i32
    linalg.yield %c : i32
  } -> tensor<7x?xi32>
  %r = tensor.empty() : tensor<7xi32>
  %f = linalg.fill ins(%i0 : i32) outs(%r : tensor<7xi32>) -> tensor<7xi32>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%k : tensor<7x?xi32>) outs(%f : tensor<7xi32>) {
  ^bb0(%a: i32, %o: i32):
    %c = arith.addi %a, %o : i32
    linalg.yield %c : i32
  } -> tensor<7xi32>
  return %s : tensor<7xi32>
}
