// A reduction that computes with positions along its rows. The threads of a row exchange them through
// workgroup memory, and Codegen/SPIRV/ConvertToSPIRVPass.cpp has no type for an index there.
// Workaround: passes/linalg/workarounds/index_reductions.py, WorkaroundIndexReductions
// TARGET: vulkan:ampere
// PASS: workaround-index-reductions
// FAILS: failed to legalize operation 'memref.alloc'

func.func @main(%x: tensor<3x64xi32>) -> tensor<3xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3xi32>
  %i = linalg.fill ins(%zero : i32) outs(%e : tensor<3xi32>) -> tensor<3xi32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x64xi32>) outs(%i : tensor<3xi32>) {
  ^bb0(%a: i32, %o: i32):
    %j = linalg.index 1 : index
    %p = arith.index_cast %j : index to i32
    %b = arith.cmpi slt, %a, %p : i32
    %n = arith.extui %b : i1 to i32
    %y = arith.addi %n, %o : i32
    linalg.yield %y : i32
  } -> tensor<3xi32>
  return %sum : tensor<3xi32>
}
