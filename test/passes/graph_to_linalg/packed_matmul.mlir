// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// Where all sizes are known, a kernel computes the product and what follows it. Here it goes through
// K in two blocks: weights of 128 lines at a time stay in the L1 cache, the accumulators wait
// in the result, and what follows them comes in the last step.

// CHECK: func.func @matmul_0
// CHECK: scf.if
// CHECK: vector.load
// CHECK: scf.for
// CHECK: memref.prefetch
// CHECK: vector.fma
// CHECK: scf.if
// CHECK: math.copysign {{.*}} : vector<64xf32>
// CHECK-LABEL: @known
// CHECK: "flow.dispatch"{{.*}}entry_points = [@matmul_0::@matmul_0]
// CHECK-NOT: linalg.generic
func.func @known(%x: tensor<6x256xf32>, %w: tensor<1x256x64xf32>, %bias: tensor<64xf32>) -> tensor<6x64xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x256xf32>, tensor<1x256x64xf32>) -> tensor<6x64xf32>
    %2 = "graph.add"(%1, %bias) : (tensor<6x64xf32>, tensor<64xf32>) -> tensor<6x64xf32>
    %3 = "graph.gelu"(%2) {approximate = "none"} : (tensor<6x64xf32>) -> tensor<6x64xf32>
    "graph.yield"(%3) : (tensor<6x64xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x64xf32>
  return %0 : tensor<6x64xf32>
}

// -----

// Columns beyond the last one are neither read nor written.

// CHECK: func.func @matmul_0
// CHECK: vector.constant_mask [4] : vector<16xi1>
// CHECK: vector.maskedstore
// CHECK-LABEL: @masked
func.func @masked(%x: tensor<6x16xf32>, %w: tensor<1x16x32xf32>) -> tensor<6x20xf32> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 20 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x32xf32>) -> tensor<6x20xf32>
  return %0 : tensor<6x20xf32>
}

// -----

// One row takes as long as its weights are read: each line in the order of memory, and one cache line
// of it a page ahead. More rows read long vectors, and prefetch all of the next panel.

// CHECK: func.func @matmul_0
// CHECK: %[[PAGE:.*]] = arith.constant 1024 : index
// CHECK-NOT: vector<64xf32>
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.*}} : memref<16384xf32>, vector<16xf32>
// CHECK-COUNT-1: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-4: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK-LABEL: @one
func.func @one(%x: tensor<1x64xf32>, %w: tensor<4x64x64xf32>) -> tensor<1x256xf32> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 256 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x64xf32>, tensor<4x64x64xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// -----

// A line of three registers is one of two and one: vectors of powers of two.

// CHECK: func.func @matmul_0
// CHECK: vector.load {{.*}} : memref<768xf32>, vector<32xf32>
// CHECK: vector.load {{.*}} : memref<768xf32>, vector<16xf32>
// CHECK: vector.fma {{.*}} : vector<32xf32>
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK-LABEL: @three
func.func @three(%x: tensor<6x16xf32>, %w: tensor<1x16x48xf32>) -> tensor<6x48xf32> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 48 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x48xf32>) -> tensor<6x48xf32>
  return %0 : tensor<6x48xf32>
}

// -----

// What is not for vectors follows in loops of its own.

// CHECK: func.func @matmul_0
// CHECK-LABEL: @sine
// CHECK: "flow.dispatch"
// CHECK: linalg.generic
func.func @sine(%x: tensor<6x16xf32>, %w: tensor<1x16x16xf32>) -> tensor<6x16xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x16xf32>) -> tensor<6x16xf32>
    %2 = "graph.sin"(%1) : (tensor<6x16xf32>) -> tensor<6x16xf32>
    "graph.yield"(%2) : (tensor<6x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x16xf32>
  return %0 : tensor<6x16xf32>
}

// -----

// Run time counts the rows: so many pieces of work, and after the full tiles of four rows smaller
// ones for what is left.

// CHECK: func.func @matmul_0(%[[ROWS:[a-z0-9]+]]: index
// CHECK: arith.muli %[[ROWS]]
// CHECK: "stream.binding.subspan"{{.*}} -> memref<?xf32>
// CHECK-COUNT-7: vector.fma
// CHECK-LABEL: @unknown
// CHECK: arith.ceildivui
// CHECK: "flow.dispatch"{{.*}}entry_points = [@matmul_0::@matmul_0]
// CHECK-NOT: linalg.generic
func.func @unknown(%x: tensor<?x16xf32, ["n"]>, %w: tensor<1x16x64xf32>) -> tensor<?x64xf32, ["n"]> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 64 : i64, mr = 4 : i64} : (tensor<?x16xf32, ["n"]>, tensor<1x16x64xf32>) -> tensor<?x64xf32, ["n"]>
  return %0 : tensor<?x64xf32, ["n"]>
}

// -----

// Pixels of images are seldom few: the last full tile overlaps others, and fewer pixels than it has
// are taken one by one.

// CHECK: func.func @matmul_0
// CHECK: scf.for
// CHECK: arith.minsi
// CHECK-COUNT-4: vector.fma
// CHECK: scf.for
// CHECK-COUNT-1: vector.fma
// CHECK-NOT: vector.fma
// CHECK-LABEL: @pixels
func.func @pixels(%x: tensor<1x?x7x16xf32, ["h"]>, %w: tensor<1x16x64xf32>) -> tensor<1x?x7x64xf32, ["h"]> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 64 : i64, mr = 4 : i64} : (tensor<1x?x7x16xf32, ["h"]>, tensor<1x16x64xf32>) -> tensor<1x?x7x64xf32, ["h"]>
  return %0 : tensor<1x?x7x64xf32, ["h"]>
}

// -----

// Weights of 16 bits are widened in registers, and the result of one K block is rounded there.

// CHECK: func.func @matmul_0
// CHECK: vector.load {{.*}} : memref<1024xf16>, vector<16xf16>
// CHECK: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: arith.maximumf
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xf16>
// CHECK-LABEL: @halves
// CHECK: "flow.dispatch"{{.*}} -> tensor<1x64xf16>
func.func @halves(%x: tensor<1x16xf32>, %w: tensor<1x16x64xf16>) -> tensor<1x64xf16> {
  %0 = "graph.fused"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 16 : i64, mr = 1 : i64} : (tensor<1x16xf32>, tensor<1x16x64xf16>) -> tensor<1x64xf32>
    %2 = "graph.relu"(%1) : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %3 = "graph.cast"(%2) {to = f16} : (tensor<1x64xf32>) -> tensor<1x64xf16>
    "graph.yield"(%3) : (tensor<1x64xf16>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x64xf16>
  return %0 : tensor<1x64xf16>
}

// -----

// Of several, it is rounded behind the kernel, which computes the rest of the epilogue.

// CHECK: func.func @matmul_0
// CHECK: arith.maximumf
// CHECK-LABEL: @long
// CHECK: "flow.dispatch"{{.*}} -> tensor<1x64xf32>
// CHECK: linalg.generic
// CHECK-NOT: arith.maximumf
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @long(%x: tensor<1x512xf32>, %w: tensor<1x512x64xf16>) -> tensor<1x64xf16> {
  %0 = "graph.fused"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 16 : i64, mr = 1 : i64} : (tensor<1x512xf32>, tensor<1x512x64xf16>) -> tensor<1x64xf32>
    %2 = "graph.relu"(%1) : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %3 = "graph.cast"(%2) {to = f16} : (tensor<1x64xf32>) -> tensor<1x64xf16>
    "graph.yield"(%3) : (tensor<1x64xf16>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x64xf16>
  return %0 : tensor<1x64xf16>
}
