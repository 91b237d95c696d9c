// RUN: gc-opt --convert-graph-to-linalg="vector-bits=512" --canonicalize --split-input-file %s | filecheck %s

// One workgroup sorts by counting. Those of the matmul are a number for each expert, whatever rows it has.
// CHECK: sym_name = "group_rows_0"
// CHECK: sym_name = "expert_matmul_1"
// CHECK-LABEL: @rows
// CHECK: %[[G:.*]]:3 = "flow.dispatch"(%c1,
// CHECK-SAME: entry_points = [@group_rows_0::@group_rows_0]
// CHECK: "flow.dispatch"(%c8,
// CHECK-SAME: %[[G]]#2
// CHECK-SAME: entry_points = [@expert_matmul_1::@expert_matmul_1]
func.func @rows(%e: tensor<?xi64, ["n"]>, %x: tensor<?x32xf32, ["n"]>, %w: tensor<8x32x64xf32>, %b: tensor<4x128xf32>) -> (tensor<?x128xf32, ["n"]>, tensor<?xi64, ["n"]>) {
  %s, %p, %t = "graph.group_rows"(%e) {count = 4 : i64, repeat = 1 : i64} : (tensor<?xi64, ["n"]>) -> (tensor<?xi64, ["n"]>, tensor<?xi64, ["n"]>, tensor<5xi64>)
  %y = "graph.expert_matmul"(%x, %w, %t, %b) {columns = 128 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<?x32xf32, ["n"]>, tensor<8x32x64xf32>, tensor<5xi64>, tensor<4x128xf32>) -> tensor<?x128xf32, ["n"]>
  return %y, %p : tensor<?x128xf32, ["n"]>, tensor<?xi64, ["n"]>
}
