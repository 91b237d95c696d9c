// RUN: gc-opt %s --graph-fused-attention=vector-bits=512 --split-input-file | filecheck %s
// RUN: gc-opt %s --graph-fused-attention=vector-bits=512 --canonicalize --split-input-file | filecheck %s --check-prefix=IN-PLACE
// RUN: gc-opt %s --graph-fused-attention --split-input-file | filecheck %s --check-prefix=OFF

// CHECK-LABEL: @heads
// CHECK: "graph.fused_attention"(%arg0, %arg1, %arg2) {causal = true, {{.*}}lanes = 16 : i64, {{.*}}mr = 6 : i64, {{.*}}vectors = 4 : i64, width = 64 : i64}
// OFF-LABEL: @heads
// OFF-NOT: fused_attention
func.func @heads(%q: tensor<12x128x64xf32>, %k: tensor<12x128x64xf32>, %v: tensor<12x128x64xf32>) -> tensor<12x128x64xf32> {
  %y = "graph.attention"(%q, %k, %v) {causal = true, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x128x64xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  return %y : tensor<12x128x64xf32>
}

// -----

// One query at a time, and a boolean mask, are left alone.

// CHECK-LABEL: @left_alone
// CHECK-NOT: fused_attention
func.func @left_alone(%q: tensor<12x1x64xf32>, %p: tensor<12x16x64xf32>, %k: tensor<12x128x64xf32>, %v: tensor<12x128x64xf32>, %m: tensor<16x128xi1>) -> (tensor<12x1x64xf32>, tensor<12x16x64xf32>) {
  %y = "graph.attention"(%q, %k, %v) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x1x64xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>) -> tensor<12x1x64xf32>
  %z = "graph.attention"(%p, %k, %v, %m) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<12x16x64xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>, tensor<16x128xi1>) -> tensor<12x16x64xf32>
  return %y, %z : tensor<12x1x64xf32>, tensor<12x16x64xf32>
}

// -----

// Three slices of one tensor, with the heads within its rows, are read where they lie, and the result
// is stored so.

// CHECK-LABEL: @heads_within_rows
// IN-PLACE-LABEL: @heads_within_rows
// IN-PLACE-NEXT: %[[Y:.*]] = "graph.fused_attention"(%arg0, %arg0, %arg0)
// IN-PLACE-SAME: k_view = [128, 64, 384, 1]
// IN-PLACE-SAME: order = array<i64: 1, 0, 2>
// IN-PLACE-SAME: q_view = [0, 64, 384, 1]
// IN-PLACE-SAME: v_view = [256, 64, 384, 1]
// IN-PLACE-SAME: -> tensor<32x2x64xf32>
// IN-PLACE-NEXT: return %[[Y]]
func.func @heads_within_rows(%x: tensor<32x384xf32>) -> tensor<32x2x64xf32> {
  %r = "graph.reshape"(%x) {shape = [32, 3, 2, 64]} : (tensor<32x384xf32>) -> tensor<32x3x2x64xf32>
  %t = "graph.transpose"(%r) {perm = array<i64: 1, 2, 0, 3>} : (tensor<32x3x2x64xf32>) -> tensor<3x2x32x64xf32>
  %qs = "graph.slice"(%t) {starts = [0, 0, 0, 0], sizes = [1, 2, 32, 64], steps = array<i64: 1, 1, 1, 1>} : (tensor<3x2x32x64xf32>) -> tensor<1x2x32x64xf32>
  %ks = "graph.slice"(%t) {starts = [1, 0, 0, 0], sizes = [1, 2, 32, 64], steps = array<i64: 1, 1, 1, 1>} : (tensor<3x2x32x64xf32>) -> tensor<1x2x32x64xf32>
  %vs = "graph.slice"(%t) {starts = [2, 0, 0, 0], sizes = [1, 2, 32, 64], steps = array<i64: 1, 1, 1, 1>} : (tensor<3x2x32x64xf32>) -> tensor<1x2x32x64xf32>
  %q = "graph.reshape"(%qs) {shape = [2, 32, 64]} : (tensor<1x2x32x64xf32>) -> tensor<2x32x64xf32>
  %k = "graph.reshape"(%ks) {shape = [2, 32, 64]} : (tensor<1x2x32x64xf32>) -> tensor<2x32x64xf32>
  %v = "graph.reshape"(%vs) {shape = [2, 32, 64]} : (tensor<1x2x32x64xf32>) -> tensor<2x32x64xf32>
  %a = "graph.attention"(%q, %k, %v) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x32x64xf32>, tensor<2x32x64xf32>, tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
  %y = "graph.transpose"(%a) {perm = array<i64: 1, 0, 2>} : (tensor<2x32x64xf32>) -> tensor<32x2x64xf32>
  return %y : tensor<32x2x64xf32>
}

// -----

// Queries whose features are apart are laid down first; keys may lie across.

// IN-PLACE-LABEL: @features_apart
// IN-PLACE: %[[Q:.*]] = "graph.transpose"(%arg0)
// IN-PLACE-NOT: graph.transpose
// IN-PLACE: "graph.fused_attention"(%[[Q]], %arg1, %arg2)
// IN-PLACE-SAME: k_view = [0, 2048, 1, 32]
func.func @features_apart(%x: tensor<2x64x32xf32>, %c: tensor<2x64x32xf32>, %v: tensor<2x32x64xf32>) -> tensor<2x32x64xf32> {
  %q = "graph.transpose"(%x) {perm = array<i64: 0, 2, 1>} : (tensor<2x64x32xf32>) -> tensor<2x32x64xf32>
  %k = "graph.transpose"(%c) {perm = array<i64: 0, 2, 1>} : (tensor<2x64x32xf32>) -> tensor<2x32x64xf32>
  %a = "graph.attention"(%q, %k, %v) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x32x64xf32>, tensor<2x32x64xf32>, tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
  return %a : tensor<2x32x64xf32>
}

// -----

// Strides of named sizes are expressions.

// IN-PLACE-LABEL: @named_rows
// IN-PLACE: "graph.fused_attention"(%arg0, %arg0, %arg0)
// IN-PLACE-SAME: keys = "s"
// IN-PLACE-SAME: q_view = [0, "384*s", 64, 384, 1]
// IN-PLACE-SAME: -> tensor<?x?x2x64xf32, ["n", "s"]>
func.func @named_rows(%x: tensor<?x?x384xf32, ["n", "s"]>) -> tensor<?x?x2x64xf32, ["n", "s"]> {
  %0 = "graph.reshape"(%x) {shape = ["n", "s", 3, 2, 64]} : (tensor<?x?x384xf32, ["n", "s"]>) -> tensor<?x?x3x2x64xf32, ["n", "s"]>
  %1 = "graph.transpose"(%0) {perm = array<i64: 2, 0, 3, 1, 4>} : (tensor<?x?x3x2x64xf32, ["n", "s"]>) -> tensor<3x?x2x?x64xf32, ["n", "s"]>
  %2 = "graph.slice"(%1) {sizes = [1, "n", 2, "s", 64], starts = [0, 0, 0, 0, 0], steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x?x2x?x64xf32, ["n", "s"]>) -> tensor<1x?x2x?x64xf32, ["n", "s"]>
  %q = "graph.reshape"(%2) {shape = ["n", 2, "s", 64]} : (tensor<1x?x2x?x64xf32, ["n", "s"]>) -> tensor<?x2x?x64xf32, ["n", "s"]>
  %y = "graph.attention"(%q, %q, %q) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, scale = 1.25e-01 : f64} : (tensor<?x2x?x64xf32, ["n", "s"]>, tensor<?x2x?x64xf32, ["n", "s"]>, tensor<?x2x?x64xf32, ["n", "s"]>) -> tensor<?x2x?x64xf32, ["n", "s"]>
  %z = "graph.transpose"(%y) {perm = array<i64: 0, 2, 1, 3>} : (tensor<?x2x?x64xf32, ["n", "s"]>) -> tensor<?x?x2x64xf32, ["n", "s"]>
  return %z : tensor<?x?x2x64xf32, ["n", "s"]>
}

// -----

// A mask is expanded along queries if run time decides whether it repeats there, not along heads.

// CHECK-LABEL: @mask_of_named_rows
// CHECK: %[[BOTH:.*]] = "graph.expand"(%arg3) {shape = ["h", "broadcast(m, s)", "t"]}
// CHECK: %[[MASK:.*]] = "graph.reshape"(%[[BOTH]]) {shape = ["h", "s", "t"]}
// CHECK: "graph.fused_attention"(%arg0, %arg1, %arg2, %[[MASK]])
// OFF-LABEL: @mask_of_named_rows
// OFF-NOT: graph.expand
func.func @mask_of_named_rows(%q: tensor<12x?x64xf32, ["s"]>, %k: tensor<12x?x64xf32, ["t"]>, %v: tensor<12x?x64xf32, ["t"]>, %m: tensor<?x?x?xf32, ["h", "m", "t"]>) -> tensor<12x?x64xf32, ["s"]> {
  %y = "graph.attention"(%q, %k, %v, %m) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<12x?x64xf32, ["s"]>, tensor<12x?x64xf32, ["t"]>, tensor<12x?x64xf32, ["t"]>, tensor<?x?x?xf32, ["h", "m", "t"]>) -> tensor<12x?x64xf32, ["s"]>
  return %y : tensor<12x?x64xf32, ["s"]>
}

// -----

// The prompt of one sequence attends to the rows in use of its cache, which are read where they are.

// IN-PLACE-LABEL: @prompt
// IN-PLACE: graph.bind_sizes
// IN-PLACE-NOT: graph.slice
// IN-PLACE: %[[MASK:.*]] = "graph.where"(%arg4
// IN-PLACE: "graph.fused_attention"(%arg0, %arg1, %arg2, %{{.*}}) {{.*}} k_view = ["16*min(cache_row, rows - 1)*room", 0, "8*room", 8, 1], keys = "past + 64"
func.func @prompt(%q: tensor<1x2x64x8xf32>, %k: tensor<?x2x?x8xf32, ["rows", "room"]>, %v: tensor<?x2x?x16xf32, ["rows", "room"]>, %batch: tensor<1xi64>, %mask: tensor<1x1x64x?xi1, ["past + 64"]>) -> tensor<1x2x64x16xf32> {
  %zero = "graph.constant"() {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = "graph.sizes"() {sizes = ["past + 63"]} : () -> tensor<1xi64>
  %y = "graph.cached_attention"(%q, %k, %v, %zero, %last, %mask, %batch) {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 1>} : (tensor<1x2x64x8xf32>, tensor<?x2x?x8xf32, ["rows", "room"]>, tensor<?x2x?x16xf32, ["rows", "room"]>, tensor<1xi64>, tensor<1xi64>, tensor<1x1x64x?xi1, ["past + 64"]>, tensor<1xi64>) -> tensor<1x2x64x16xf32>
  return %y : tensor<1x2x64x16xf32>
}

// -----

// Values of odd numbers of features, and of fewer than fill a vector of 16, which are in vectors of 8.

// CHECK-LABEL: @odd_features
// CHECK: "graph.fused_attention"{{.*}}lanes = 16 : i64{{.*}}width = 20 : i64
// CHECK: "graph.fused_attention"{{.*}}lanes = 8 : i64{{.*}}width = 12 : i64
// CHECK-NOT: fused_attention
func.func @odd_features(%q: tensor<2x32x5xf32>, %v: tensor<2x16x20xf32>, %k: tensor<2x16x5xf32>, %w: tensor<2x16x12xf32>) -> (tensor<2x32x20xf32>, tensor<2x32x12xf32>, tensor<2x32x5xf32>) {
  %x = "graph.attention"(%q, %k, %v) {causal = false, scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x32x5xf32>, tensor<2x16x5xf32>, tensor<2x16x20xf32>) -> tensor<2x32x20xf32>
  %y = "graph.attention"(%q, %k, %w) {causal = false, scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x32x5xf32>, tensor<2x16x5xf32>, tensor<2x16x12xf32>) -> tensor<2x32x12xf32>
  %z = "graph.attention"(%q, %k, %k) {causal = false, scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x32x5xf32>, tensor<2x16x5xf32>, tensor<2x16x5xf32>) -> tensor<2x32x5xf32>
  return %x, %y, %z : tensor<2x32x20xf32>, tensor<2x32x12xf32>, tensor<2x32x5xf32>
}
