// Loops that read elements of a tensor which a cast widens. The cast is cloned into their dispatch
// (DispatchCreation/CloneProducersIntoDispatchRegions.cpp), which needs all of its result on the stack.
// Workaround: passes/graph_to_linalg/dispatch.py, read_in_loops
// TARGET: cpu
// FAILS: exceeded stack allocation limit

func.func @main(%x: tensor<?xf16>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf16>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf16>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f16, %o: f32):
    %y = arith.extf %a : f16 to f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %few = tensor.empty() : tensor<4xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%few : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %sum = scf.for %j = %c0 to %c2 step %c1 iter_args(%total = %zero) -> (f32) {
      %at = arith.addi %i, %j : index
      %element = tensor.extract %wide[%at] : tensor<?xf32>
      %next = arith.addf %total, %element : f32
      scf.yield %next : f32
    }
    linalg.yield %sum : f32
  } -> tensor<4xf32>
  return %sums : tensor<4xf32>
}
