// RUN: gc-opt %s --externalize-transients="bytes=67108865" | filecheck %s
// RUN: gc-opt %s --externalize-transients="bytes=67108865" --report -o /dev/null 2>&1 | filecheck %s --check-prefix=REPORT

// The backend would find no common place for allocations in several blocks.
// REPORT: 1 declined by externalize-transients, it branches between kernels: main
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %{{.*}}: i1) -> tensor<4xf32> {
func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  cf.cond_br %c, ^then, ^else
^then:
  %y = math.absf %x : tensor<4xf32>
  return %y : tensor<4xf32>
^else:
  return %x : tensor<4xf32>
}
