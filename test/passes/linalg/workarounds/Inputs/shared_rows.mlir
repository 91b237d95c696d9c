// A value per row that is returned, and read by a reduction of the rows, in the dispatch that computes
// what it is computed from. IREEComprehensiveBufferizePass (Codegen/Common/) fails at it for CUDA.
// Workaround: passes/linalg/workarounds/shared_rows.py, WorkaroundSharedRows
// TARGET: cuda
// PASS: workaround-shared-rows
// FAILS: failed to bufferize op

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#v = affine_map<(i) -> (i)>
func.func @main(%x: tensor<6x20xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 20.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x20xf32>) outs(%i : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  %mean = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%sum : tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.divf %a, %n : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  %dev = linalg.generic {indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]} ins(%x, %mean : tensor<6x20xf32>, tensor<6xf32>) outs(%i : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %y = arith.addf %d, %o : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  return %sum, %mean, %dev : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
