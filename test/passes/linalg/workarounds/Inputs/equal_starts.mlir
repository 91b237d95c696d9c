// A loop that updates two tensors which begin alike. Both become one buffer, of which
// Dialect/Stream/Transforms/MaterializeCopyOnWrite.cpp makes no copy.
// Workaround: passes/graph_to_linalg/branches.py, _convert_while
// TARGET: cpu

func.func @main(%x: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r:3 = scf.while (%i = %c0, %p = %zeros, %q = %zeros) : (index, tensor<?x?xf32>, tensor<?x?xf32>) -> (index, tensor<?x?xf32>, tensor<?x?xf32>) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i, %p, %q : index, tensor<?x?xf32>, tensor<?x?xf32>
  } do {
  ^bb0(%i: index, %p: tensor<?x?xf32>, %q: tensor<?x?xf32>):
    %e = tensor.empty(%n) : tensor<?xf32>
    %neg = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = arith.negf %a : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %p1 = tensor.insert_slice %x into %p[%i, 0] [1, %n] [1, 1] : tensor<?xf32> into tensor<?x?xf32>
    %q1 = tensor.insert_slice %neg into %q[%i, 0] [1, %n] [1, 1] : tensor<?xf32> into tensor<?x?xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %p1, %q1 : index, tensor<?x?xf32>, tensor<?x?xf32>
  }
  return %r#1, %r#2 : tensor<?x?xf32>, tensor<?x?xf32>
}
