// RUN: gc-opt --graph-shard=gather-bytes=64 --canonicalize --cse %s | filecheck %s
// RUN: gc-opt --graph-shard=gather-bytes=64 --check-rewrites --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt --graph-shard --graph-specialize-rank=rank=1 --canonicalize --cse %s | filecheck %s --check-prefix=RANK
// RUN: not gc-opt --graph-shard=ranks=0 %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not gc-opt --graph-shard --graph-specialize-rank=rank=2 %s 2>&1 | filecheck %s --check-prefix=MISSING

// NONE: error: {{.*}}0 ranks of axis 'tensor'
// MISSING: there is no rank 2 of 2

// REPORT: 1 x gather-columns (1 checked): logits
// REPORT: declined by gather-columns, 2 ranks do not divide 3: odd
// REPORT: declined by gather-columns, its weights of 32 bytes are less than gather-bytes: normalised, back
// REPORT: 1 x row-parallel (1 checked): down
// REPORT: declined by row-parallel, 'norm' (softmax) needs all elements of the axis: back
// REPORT: declined by row-parallel, it is an input: normalised, odd

// Columns of two matrices, what becomes of them, and the rows of the third that meet these.
// CHECK-LABEL: @gated
// CHECK-DAG: %[[B:.*]] = "graph.all_slice"({{.*}}) {axis = 0 : i64, {{.*}}sections = array<i64: 4>} : (tensor<4xf32>)
// CHECK-DAG: %[[GATE:.*]] = "graph.all_slice"({{.*}}) {axis = 1 : i64, mesh_axis = "tensor", ranks = 2 : i64, sections = array<i64: 4>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
// CHECK: "graph.swish"
// CHECK: %[[PARTS:.*]] = "graph.mul"({{.*}} -> tensor<?x2xf32, ["n"]>
// CHECK: %[[ROWS:.*]] = "graph.all_slice"({{.*}}) {axis = 0 : i64, {{.*}}} : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK: %[[SUM:.*]] = "graph.matmul"(%[[PARTS]], %[[ROWS]])
// CHECK: %[[Y:.*]] = "graph.all_reduce"(%[[SUM]]) {mesh_axis = "tensor", ranks = 2 : i64, reduction = "sum"} : (tensor<?x3xf32, ["n"]>)
// CHECK: return %[[Y]]

// RANK-LABEL: @gated
// RANK-DAG: dense<{{\[\[}}2.000000e+00, 3.000000e+00], [6.000000e+00, 7.000000e+00]]> : tensor<2x2xf32>
// RANK-DAG: dense<{{\[\[}}3.000000e+00, 3.000000e+00, 3.000000e+00], [4.000000e+00, 4.000000e+00, 4.000000e+00]]>
// RANK-NOT: graph.all_slice
// RANK: graph.all_reduce
func.func @gated(%x: tensor<?x2xf32, ["n"]>) -> tensor<?x3xf32, ["n"]> {
  %v = "graph.constant"() {value = dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %u = "graph.constant"() {value = dense<[[7.0, 6.0, 5.0, 4.0], [3.0, 2.0, 1.0, 0.0]]> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %b = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %w = "graph.constant"() {value = dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0], [4.0, 4.0, 4.0]]> : tensor<4x3xf32>} : () -> tensor<4x3xf32>
  %0 = "graph.matmul"(%x, %v) : (tensor<?x2xf32, ["n"]>, tensor<2x4xf32>) -> tensor<?x4xf32, ["n"]> loc("gate")
  %1 = "graph.add"(%0, %b) : (tensor<?x4xf32, ["n"]>, tensor<4xf32>) -> tensor<?x4xf32, ["n"]>
  %2 = "graph.swish"(%1) {alpha = 1.0 : f64} : (tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  %3 = "graph.matmul"(%x, %u) : (tensor<?x2xf32, ["n"]>, tensor<2x4xf32>) -> tensor<?x4xf32, ["n"]> loc("up")
  %4 = "graph.mul"(%2, %3) : (tensor<?x4xf32, ["n"]>, tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  %5 = "graph.matmul"(%4, %w) : (tensor<?x4xf32, ["n"]>, tensor<4x3xf32>) -> tensor<?x3xf32, ["n"]> loc("down")
  return %5 : tensor<?x3xf32, ["n"]>
}

// Each part of the hidden values needs all of them: nothing is divided.
// CHECK-LABEL: @normalised
// CHECK-NOT: graph.all
// CHECK: return
func.func @normalised(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %v = "graph.constant"() {value = dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %w = "graph.constant"() {value = dense<1.0> : tensor<4x2xf32>} : () -> tensor<4x2xf32>
  %0 = "graph.matmul"(%x, %v) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32> loc("normalised")
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("norm")
  %2 = "graph.matmul"(%1, %w) : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> loc("back")
  return %2 : tensor<3x2xf32>
}

// Large weights alone: the columns of the result are gathered.
// CHECK-LABEL: @logits
// CHECK: %[[PART:.*]] = "graph.matmul"({{.*}} -> tensor<3x8xf32>
// CHECK: "graph.all_gather"(%[[PART]]) {axis = 1 : i64, mesh_axis = "tensor", ranks = 2 : i64, sections = array<i64: 16>}
func.func @logits(%x: tensor<3x2xf32>) -> tensor<3x16xf32> {
  %w = "graph.constant"() {value = dense<1.0> : tensor<2x16xf32>} : () -> tensor<2x16xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<3x2xf32>, tensor<2x16xf32>) -> tensor<3x16xf32> loc("logits")
  return %0 : tensor<3x16xf32>
}

// CHECK-LABEL: @odd
// CHECK-NOT: graph.all
// CHECK: return
func.func @odd(%x: tensor<3x2xf32>) -> tensor<3x3xf32> {
  %w = "graph.constant"() {value = dense<1.0> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32> loc("odd")
  return %0 : tensor<3x3xf32>
}
