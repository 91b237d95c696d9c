// Sums of columns, and sums of what differs from these, of a dynamic number of columns. Both are
// computed in one dispatch, the first sum in the reduction loop of the second: 1,000 rows take 1,000
// times as long as they should. DispatchCreation/FormDispatchRegions.cpp fuses the two; which pass
// then moves the first one into the loop was not looked for.
// Workaround: passes/linalg/workarounds/repeated_reductions.py, WorkaroundRepeatedReductions
// TARGET: cpu
// PASS: workaround-repeated-reductions

#c = affine_map<(i, j) -> (j)>
#m = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %columns = tensor.dim %x, %one : tensor<?x?xf32>
  %e = tensor.empty(%columns) : tensor<?xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %rest = linalg.generic {indexing_maps = [#m, #c, #c], iterator_types = ["reduction", "parallel"]} ins(%x, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %s: f32, %o: f32):
    %d = arith.subf %in, %s : f32
    %y = arith.addf %d, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %rest : tensor<?xf32>
}
