// A matmul of bf16 for SPIR-V, which has no such type: it is computed as f32
// (ConvertBf16ArithToF32Pass, Codegen/Common/), but vectors that are loaded as f32 and taken for twice
// as many bf16 are left.
// Workaround: runtime/targets/base.py, SPIRV_NARROW_FLOATS
// TARGET: vulkan:llvmpipe
// FAILS: failed to legalize operation 'vector.bitcast'

#m = affine_map<(i, j, k) -> (i, k)>
#n = affine_map<(i, j, k) -> (k, j)>
#p = affine_map<(i, j, k) -> (i, j)>
func.func @main(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #p], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x64xbf16>, tensor<64x64xbf16>) outs(%f : tensor<8x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %g = arith.mulf %c, %d : f32
    %h = arith.addf %g, %o : f32
    linalg.yield %h : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
