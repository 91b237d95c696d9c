// A matmul of f64 with AVX-512. IREE's own tiles for it exceed the size of vectors that it allows
// (Codegen/LLVMCPU/LLVMCPUVerifyVectorSizeLegality.cpp).
// Workaround: runtime/targets/cpu.py, --iree-llvmcpu-max-allowed-number-of-native-vectors
// TARGET: cpu:x86-64-v4
// WITHOUT: --iree-llvmcpu-max-allowed-number-of-native-vectors
// FAILS: One or more operations with large vector sizes

func.func @main(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<64x64xf64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<64x64xf64>) -> tensor<64x64xf64>
  %y = linalg.matmul ins(%x, %w : tensor<64x64xf64>, tensor<64x64xf64>) outs(%i : tensor<64x64xf64>) -> tensor<64x64xf64>
  return %y : tensor<64x64xf64>
}
