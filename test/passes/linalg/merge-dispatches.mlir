// RUN: gc-opt %s --convert-graph-to-linalg="vector-bits=512" --merge-dispatches="threads=2 sharing=2" --work-stealing-dispatch="threads=2" --canonicalize --split-input-file | filecheck %s
// RUN: gc-opt %s --convert-graph-to-linalg="vector-bits=512" --merge-dispatches="threads=2 sharing=2" --split-input-file --report -o /dev/null 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt %s --convert-graph-to-linalg="vector-bits=512" --merge-dispatches="threads=1" --canonicalize --split-input-file | filecheck %s --check-prefix=ALONE
// RUN: gc-opt %s --convert-graph-to-linalg="vector-bits=512" --merge-dispatches="threads=2 sharing=1" --split-input-file --report -o /dev/null 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: declined by merge-dispatches, threads do not know their cores

// Two threads share the stages of one kernel: the second one begins when the counter of the first
// says that all is done. The last thread to leave clears the counters. One thread has loops.
// CHECK: func.func @merged_{{[a-z_]*}}0(%{{.*}}: !stream.binding, %{{.*}}: !stream.binding, %{{.*}}: !stream.binding, %[[GIVEN:.*]]: !stream.binding, %{{.*}}: !stream.binding, %{{.*}}: !stream.binding, %{{.*}}: !stream.binding)
// CHECK: %[[COUNTERS:.*]] = "stream.binding.subspan"(%[[GIVEN]], {{.*}}) : {{.*}} -> memref<1168xi64>
// CHECK: llvm.inline_asm {{.*}} "rdtscp"
// CHECK: memref.load %[[COUNTERS]]
// CHECK: memref.atomic_rmw addi {{.*}}, %[[COUNTERS]]
// CHECK: llvm.inline_asm {{.*}} "pause"
// CHECK: memref.load %[[COUNTERS]]
// CHECK: llvm.inline_asm {{.*}} "pause"
// CHECK: "stream.dispatch.workgroup.count"
// CHECK: scf.if
// CHECK-COUNT-10: memref.store {{.*}}, %[[COUNTERS]]
// ALONE: func.func @merged_{{[a-z_]*}}0
// ALONE-NOT: atomic_rmw
// ALONE: scf.for
// ALONE: return

// What stands between and depends on the first kernel follows; a view is the same memory.
// CHECK-LABEL: @one_after_the_other
// CHECK: %[[ALL:.*]]:4 = "flow.dispatch"({{.*}}) {entry_points = [@merged_{{[a-z_]*}}0::@merged_{{[a-z_]*}}0], {{.*}}tied_operands = [-1 : index, -1 : index, -1 : index, 3 : index]}
// CHECK-NOT: flow.dispatch
// CHECK: linalg.generic
// CHECK: return %[[ALL]]#2
// ALONE-LABEL: @one_after_the_other
// ALONE: "flow.dispatch"({{.*}}) {entry_points = [@merged_{{[a-z_]*}}0::@merged_{{[a-z_]*}}0], {{.*}}tied_operands = [-1 : index, -1 : index, -1 : index]}
func.func @one_after_the_other(%x: tensor<1x64xf32>, %w: tensor<3x2x288xui32>, %scale: tensor<192xf32>) -> (tensor<1x192xf32>, tensor<3x64xf32>) {
  %0 = "graph.quantize_blocks"(%x) {block = 32 : i64} : (tensor<1x64xf32>) -> tensor<1x20xui32>
  %1 = "graph.int8_nbits_matmul"(%0, %w) {bits = 4 : i64, block = 32 : i64, columns = 192 : i64, mr = 1 : i64, nr = 64 : i64, offset = 0 : i64, scales = "f16", unit = "avx512vnni", zeros = false} : (tensor<1x20xui32>, tensor<3x2x288xui32>) -> tensor<1x192xf32>
  %2 = "graph.reshape"(%1) {shape = [3, 64]} : (tensor<1x192xf32>) -> tensor<3x64xf32>
  %3 = "graph.neg"(%2) : (tensor<3x64xf32>) -> tensor<3x64xf32>
  %4 = "graph.reshape"(%2) {shape = [1, 192]} : (tensor<3x64xf32>) -> tensor<1x192xf32>
  %5 = "graph.rms_norm"(%4, %scale) {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<1x192xf32>, tensor<192xf32>) -> tensor<1x192xf32>
  return %5, %3 : tensor<1x192xf32>, tensor<3x64xf32>
}

// -----

// A dispatch ends before its first kernel comes again, and equal ones share their code. Kernels of
// one workgroup need one thread.
// CHECK: @merged_{{[a-z_]*}}0
// CHECK-NOT: func.func @merged_{{[a-z_]*}}1
// CHECK-LABEL: @layers
// CHECK: %[[FIRST:.*]]:2 = "flow.dispatch"(%c1, {{.*}}@merged_{{[a-z_]*}}0::@merged_{{[a-z_]*}}0
// CHECK: "flow.dispatch"(%c1, %[[FIRST]]#1, {{.*}}@merged_{{[a-z_]*}}0::@merged_{{[a-z_]*}}0
func.func @layers(%x: tensor<8x197xf32>, %scale: tensor<197xf32>) -> tensor<8x197xf32> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<8x197xf32>) -> tensor<8x197xf32>
  %1 = "graph.rms_norm"(%0, %scale) {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<8x197xf32>, tensor<197xf32>) -> tensor<8x197xf32>
  %2 = "graph.softmax"(%1) {axis = 1 : i64} : (tensor<8x197xf32>) -> tensor<8x197xf32>
  %3 = "graph.rms_norm"(%2, %scale) {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<8x197xf32>, tensor<197xf32>) -> tensor<8x197xf32>
  return %3 : tensor<8x197xf32>
}

// -----

// Large results take time, and memory; a computed tensor that no kernel made comes first.
// CHECK-LABEL: @apart
// CHECK-NOT: @merged_{{[a-z_]*}}0::
// CHECK: return
// REPORT: declined by merge-dispatches, its result is large
// REPORT: declined by merge-dispatches, its workgroups are counted at run time
func.func @apart(%x: tensor<512x197xf32>, %y: tensor<?x197xf32, ["n"]>) -> (tensor<512x197xf32>, tensor<?x197xf32, ["n"]>) {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %1 = "graph.softmax"(%y) {axis = 1 : i64} : (tensor<?x197xf32, ["n"]>) -> tensor<?x197xf32, ["n"]>
  return %0, %1 : tensor<512x197xf32>, tensor<?x197xf32, ["n"]>
}

// -----

// A large result between does not live longer: its reader does not wait for the second one.
// CHECK-LABEL: @between
// CHECK: @softmax_{{[0-9]}}::
// CHECK: @merged_{{[a-z_]*}}0::
// CHECK: linalg.generic
// CHECK: @merged_{{[a-z_]*}}0::
func.func @between(%x: tensor<512x197xf32>, %scale: tensor<197xf32>) -> (tensor<1x197xf32>, tensor<1x197xf32>) {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %1 = "graph.slice"(%0) {sizes = [1, 197], starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<512x197xf32>) -> tensor<1x197xf32>
  %2 = "graph.softmax"(%1) {axis = 1 : i64} : (tensor<1x197xf32>) -> tensor<1x197xf32>
  %3 = "graph.rms_norm"(%2, %scale) {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<1x197xf32>, tensor<197xf32>) -> tensor<1x197xf32>
  %4 = "graph.softmax"(%0) {axis = 0 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %5 = "graph.slice"(%4) {sizes = [1, 197], starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<512x197xf32>) -> tensor<1x197xf32>
  %6 = "graph.softmax"(%5) {axis = 1 : i64} : (tensor<1x197xf32>) -> tensor<1x197xf32>
  %7 = "graph.rms_norm"(%6, %scale) {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<1x197xf32>, tensor<197xf32>) -> tensor<1x197xf32>
  return %3, %7 : tensor<1x197xf32>, tensor<1x197xf32>
}
