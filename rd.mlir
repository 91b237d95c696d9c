
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
module { func.func @main(%x: tensor<?x7xi8>) -> tensor<?xi32> {
 %c0 = arith.constant 0 : index
 %d = tensor.dim %x, %c0 : tensor<?x7xi8>
 %c = arith.constant 5 : i8
 %z = arith.constant 0 : i32
 %e = tensor.empty(%d) : tensor<?x7xi8>
 %e2 = tensor.empty(%d) : tensor<?x7xi32>
 %e1 = tensor.empty(%d) : tensor<?xi32>
 %1 = linalg.fill ins(%c: i8) outs(%e: tensor<?x7xi8>) -> tensor<?x7xi8>
 %2 = linalg.generic {indexing_maps=[#m,#m], iterator_types=["parallel","parallel"]} ins(%1: tensor<?x7xi8>) outs(%e2: tensor<?x7xi32>) { ^bb0(%a: i8, %b: i32): %w = arith.extui %a : i8 to i32
 linalg.yield %w : i32 } -> tensor<?x7xi32>
 %f = linalg.fill ins(%z: i32) outs(%e1: tensor<?xi32>) -> tensor<?xi32>
 %3 = linalg.generic {indexing_maps=[#m,#r], iterator_types=["parallel","reduction"]} ins(%2: tensor<?x7xi32>) outs(%f: tensor<?xi32>) { ^bb0(%a: i32, %b: i32): %w = arith.addi %a, %b : i32
 linalg.yield %w : i32 } -> tensor<?xi32>
 return %3 : tensor<?xi32>
}}