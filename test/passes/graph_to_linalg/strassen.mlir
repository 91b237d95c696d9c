// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// Two kernels: sums of blocks of rows; then products, sums of them, and what follows.

// CHECK: func.func @strassen_terms_0
// CHECK-COUNT-4: vector.load
// CHECK-COUNT-7: vector.store
// CHECK: func.func @strassen_1
// CHECK: vector.fma
// CHECK: arith.subf {{.*}} : vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK-LABEL: @relu
// CHECK: "flow.dispatch"{{.*}}entry_points = [@strassen_terms_0::@strassen_terms_0]{{.*}} -> tensor<1x7x80xf32>
// CHECK: "flow.dispatch"{{.*}}entry_points = [@strassen_1::@strassen_1]
// CHECK-SAME: -> (tensor<8x32xf32>, tensor<{{[0-9]+}}xf32>)
// CHECK-NOT: linalg.generic
func.func @relu(%x: tensor<8x32xf32>, %w: tensor<1x7x16x16xf32>) -> tensor<8x32xf32> {
  %t = "graph.strassen_terms"(%x) {blocks = "2x2x2", replicas = 1 : i64} : (tensor<8x32xf32>) -> tensor<1x7x80xf32>
  %0 = "graph.fused"() ({
    %1 = "graph.strassen_matmul"(%t, %w) {blocks = "2x2x2", columns = 32 : i64, lanes = 16 : i64, mr = 6 : i64, shape = array<i64: 8>, workgroups = 8 : i64} : (tensor<1x7x80xf32>, tensor<1x7x16x16xf32>) -> tensor<8x32xf32>
    %2 = "graph.relu"(%1) : (tensor<8x32xf32>) -> tensor<8x32xf32>
    "graph.yield"(%2) : (tensor<8x32xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// Named rows: sums of blocks, if there are rows enough, and one kernel for few rows and for many. Its
// first branch has the algorithm, whose epilogue works on sums of products; the other one has the
// epilogue on accumulators.

// CHECK: func.func @strassen_terms_0
// CHECK: func.func @matmul_or_strassen_1
// CHECK: %[[PAYS:.*]] = arith.cmpi uge, %{{.*}}, %{{.*}} : index
// CHECK: scf.if %[[PAYS]]
// CHECK: arith.subf
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: else
// CHECK-NOT: arith.subf
// CHECK: arith.maximumf
// CHECK-LABEL: @named_rows
// CHECK: arith.cmpi uge
// CHECK: "flow.dispatch"{{.*}}entry_points = [@strassen_terms_0::@strassen_terms_0]
// CHECK: "flow.dispatch"{{.*}}entry_points = [@matmul_or_strassen_1::@matmul_or_strassen_1]
// CHECK-NOT: linalg.generic
func.func @named_rows(%x: tensor<?x32xf32, ["rows"]>, %w: tensor<1x9x16x16xf32>) -> tensor<?x32xf32, ["rows"]> {
  %0 = "graph.fused"() ({
    %1 = "graph.plain_or_strassen_matmul"(%x, %w) {blocks = "2x2x2", columns = 32 : i64, few_rows = 0 : i64, lanes = 16 : i64, least = 64 : i64, mr = 6 : i64, replicas = 2 : i64, workgroups = 4 : i64} : (tensor<?x32xf32, ["rows"]>, tensor<1x9x16x16xf32>) -> tensor<?x32xf32, ["rows"]>
    %2 = "graph.relu"(%1) : (tensor<?x32xf32, ["rows"]>) -> tensor<?x32xf32, ["rows"]>
    "graph.yield"(%2) : (tensor<?x32xf32, ["rows"]>) -> ()
  }) {kind = "epilogue"} : () -> tensor<?x32xf32, ["rows"]>
  return %0 : tensor<?x32xf32, ["rows"]>
}
