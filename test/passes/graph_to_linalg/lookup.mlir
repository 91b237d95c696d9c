// RUN: gc-opt %s --convert-graph-to-linalg="vector-bits=256" --split-input-file | filecheck %s

// One loop without branches: two slots are read, whatever the number of keys is.
// CHECK-LABEL: @hash_lookup
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK: arith.cmpf uno
// CHECK: arith.bitcast
// CHECK-COUNT-2: tensor.extract {{.*}} : tensor<2x10{{.*}}>
// CHECK: arith.select
// CHECK-COUNT-2: tensor.extract {{.*}} : tensor<2x10{{.*}}>
// CHECK: arith.select
// CHECK-NEXT: linalg.yield
func.func @hash_lookup(%x: tensor<?xf32, ["n"]>, %k: tensor<2x10xi32>, %v: tensor<2x10xi64>, %d: tensor<i64>) -> tensor<?xi64, ["n"]> {
  %0 = "graph.hash_lookup"(%x, %k, %v, %d) {multipliers = array<i64: 3, 5>} : (tensor<?xf32, ["n"]>, tensor<2x10xi32>, tensor<2x10xi64>, tensor<i64>) -> tensor<?xi64, ["n"]>
  return %0 : tensor<?xi64, ["n"]>
}

// -----

// One load for each byte, which is an index without a sign.
// CHECK-LABEL: @table
// CHECK: linalg.generic
// CHECK: %[[TABLE:.*]] = arith.constant dense<"0xFFFEFD
// CHECK: %[[AT:.*]] = arith.index_castui {{.*}} : i8 to index
// CHECK: tensor.extract %[[TABLE]][%[[AT]]] : tensor<256xi8>
func.func @table(%x: tensor<4xi8>) -> tensor<4xui8> {
  %0 = "graph.table"(%x) {table = array<i64: 255, 254, 253, 252, 251, 250, 249, 248, 247, 246, 245, 244, 243, 242, 241, 240, 239, 238, 237, 236, 235, 234, 233, 232, 231, 230, 229, 228, 227, 226, 225, 224, 223, 222, 221, 220, 219, 218, 217, 216, 215, 214, 213, 212, 211, 210, 209, 208, 207, 206, 205, 204, 203, 202, 201, 200, 199, 198, 197, 196, 195, 194, 193, 192, 191, 190, 189, 188, 187, 186, 185, 184, 183, 182, 181, 180, 179, 178, 177, 176, 175, 174, 173, 172, 171, 170, 169, 168, 167, 166, 165, 164, 163, 162, 161, 160, 159, 158, 157, 156, 155, 154, 153, 152, 151, 150, 149, 148, 147, 146, 145, 144, 143, 142, 141, 140, 139, 138, 137, 136, 135, 134, 133, 132, 131, 130, 129, 128, 127, 126, 125, 124, 123, 122, 121, 120, 119, 118, 117, 116, 115, 114, 113, 112, 111, 110, 109, 108, 107, 106, 105, 104, 103, 102, 101, 100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 88, 87, 86, 85, 84, 83, 82, 81, 80, 79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 69, 68, 67, 66, 65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0>, to = ui8, unit = "avx2"} : (tensor<4xi8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// -----

// In a kernel, 32 bytes at a time: of two rows of 16.
// CHECK-LABEL: stream.executable
// CHECK: vector.shuffle {{.*}} : vector<24xi32>, vector<8xi32>
// CHECK: arith.trunci {{.*}} : vector<32xi32> to vector<32xi8>
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.x86.avx2.pshuf.b"
// CHECK-COUNT-15: arith.select
// CHECK: vector.extract_strided_slice {{.*}} : vector<32xi8> to vector<8xi8>
func.func @kernel(%x: tensor<2x8xui8>, %w: tensor<1x2x16x4xi8>) -> tensor<2x16xui8> {
  %s = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %0 = "graph.fused"() ({
    %1 = "graph.int8_matmul"(%x, %w) {columns = 16 : i64, mr = 2 : i64, unit = "avx2", x_bytes = 1 : i64} : (tensor<2x8xui8>, tensor<1x2x16x4xi8>) -> tensor<2x16xi32>
    %2 = "graph.cast"(%1) {to = f32} : (tensor<2x16xi32>) -> tensor<2x16xf32>
    %3 = "graph.quantize"(%2, %s, %z) : (tensor<2x16xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x16xui8>
    %4 = "graph.table"(%3) {table = array<i64: 255, 254, 253, 252, 251, 250, 249, 248, 247, 246, 245, 244, 243, 242, 241, 240, 239, 238, 237, 236, 235, 234, 233, 232, 231, 230, 229, 228, 227, 226, 225, 224, 223, 222, 221, 220, 219, 218, 217, 216, 215, 214, 213, 212, 211, 210, 209, 208, 207, 206, 205, 204, 203, 202, 201, 200, 199, 198, 197, 196, 195, 194, 193, 192, 191, 190, 189, 188, 187, 186, 185, 184, 183, 182, 181, 180, 179, 178, 177, 176, 175, 174, 173, 172, 171, 170, 169, 168, 167, 166, 165, 164, 163, 162, 161, 160, 159, 158, 157, 156, 155, 154, 153, 152, 151, 150, 149, 148, 147, 146, 145, 144, 143, 142, 141, 140, 139, 138, 137, 136, 135, 134, 133, 132, 131, 130, 129, 128, 127, 126, 125, 124, 123, 122, 121, 120, 119, 118, 117, 116, 115, 114, 113, 112, 111, 110, 109, 108, 107, 106, 105, 104, 103, 102, 101, 100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 88, 87, 86, 85, 84, 83, 82, 81, 80, 79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 69, 68, 67, 66, 65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0>, to = ui8, unit = "avx2"} : (tensor<2x16xui8>) -> tensor<2x16xui8>
    "graph.yield"(%4) : (tensor<2x16xui8>) -> ()
  }) {kind = "epilogue"} : () -> tensor<2x16xui8>
  return %0 : tensor<2x16xui8>
}
