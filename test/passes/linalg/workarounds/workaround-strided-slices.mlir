// RUN: gc-opt %s --workaround-strided-slices | filecheck %s

// CHECK-LABEL: @single_elements
// CHECK: %[[SLICE:.*]] = tensor.extract_slice
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SLICE]])
// CHECK: tensor.extract %[[STORED]]
func.func @single_elements(%x: tensor<8xf32>, %i: index) -> tensor<4xf32> {
  %slice = tensor.extract_slice %x[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<4xf32>) {
  ^bb0(%out: f32):
    %element = tensor.extract %slice[%i] : tensor<4xf32>
    linalg.yield %element : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// One element of each row.
// CHECK-LABEL: @column
// CHECK: %[[SLICE:.*]] = tensor.extract_slice
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SLICE]])
// CHECK: tensor.extract %[[STORED]]
func.func @column(%x: tensor<8x4xf32>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %slice = tensor.extract_slice %x[0, 2] [8, 1] [1, 1] : tensor<8x4xf32> to tensor<8x1xf32>
  %element = tensor.extract %slice[%i, %c0] : tensor<8x1xf32>
  return %element : f32
}

// In every block.
// CHECK-LABEL: @after_a_branch
// CHECK: ^bb1
// CHECK: %[[SLICE:.*]] = tensor.extract_slice
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SLICE]])
// CHECK: tensor.extract %[[STORED]]
func.func @after_a_branch(%x: tensor<8xf32>, %i: index) -> f32 {
  cf.br ^bb1
^bb1:
  %slice = tensor.extract_slice %x[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  %element = tensor.extract %slice[%i] : tensor<4xf32>
  return %element : f32
}

// Whole ones are read as they are, and so are those whose elements lie side by side.
// CHECK-LABEL: @whole
// CHECK-NOT: compute_barrier
func.func @whole(%x: tensor<8x8xf32>, %i: index) -> (tensor<4xf32>, f32) {
  %slice = tensor.extract_slice %x[0, 0] [1, 4] [1, 2] : tensor<8x8xf32> to tensor<4xf32>
  %y = math.absf %slice : tensor<4xf32>
  %rows = tensor.extract_slice %x[0, 0] [4, 8] [2, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %element = tensor.extract %rows[%i, %i] : tensor<4x8xf32>
  return %y, %element : tensor<4xf32>, f32
}

// What is read one by one is stored itself, once for all slices of it, and for nobody else.
// CHECK-LABEL: @gathered
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[Y]]
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[TURNED]])
// CHECK-NOT: compute_barrier
// CHECK: %[[EVEN:.*]] = tensor.extract_slice %[[STORED]][0, 0] [4, 1] [2, 1]
// CHECK: %[[ODD:.*]] = tensor.extract_slice %[[STORED]][1, 0] [4, 1] [2, 1]
// CHECK: return %[[TURNED]]
func.func @gathered(%x: tensor<8xf64>, %i: tensor<1x8xindex>) -> (tensor<8x1xf64>, tensor<4x1xf64>) {
  %empty = tensor.empty() : tensor<1x8xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<1x8xindex>) outs(%empty : tensor<1x8xf64>) {
  ^bb0(%in: index, %out: f64):
    %element = tensor.extract %x[%in] : tensor<8xf64>
    linalg.yield %element : f64
  } -> tensor<1x8xf64>
  %turned_empty = tensor.empty() : tensor<8x1xf64>
  %turned = linalg.transpose ins(%y : tensor<1x8xf64>) outs(%turned_empty : tensor<8x1xf64>) permutation = [1, 0]
  %even = tensor.extract_slice %turned[0, 0] [4, 1] [2, 1] : tensor<8x1xf64> to tensor<4x1xf64>
  %odd = tensor.extract_slice %turned[1, 0] [4, 1] [2, 1] : tensor<8x1xf64> to tensor<4x1xf64>
  %sum = arith.addf %even, %odd : tensor<4x1xf64>
  return %turned, %sum : tensor<8x1xf64>, tensor<4x1xf64>
}

// -----

// A cast to a wider type, of which a slice skips rows, is materialized first.
// CHECK-LABEL: @widened
// CHECK: %[[WIDE:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[WIDE]], %
// CHECK: tensor.extract_slice %[[STORED]]
// CHECK: tensor.extract_slice %[[WIDE]][0, 0]
func.func @widened(%x: tensor<?x5xf16>, %wide: tensor<?x5xf64>, %n: index) -> (tensor<?x5xf64>, tensor<?x5xf64>) {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x5xf16>) outs(%wide : tensor<?x5xf64>) {
  ^bb0(%in: f16, %out: f64):
    %element = arith.extf %in : f16 to f64
    linalg.yield %element : f64
  } -> tensor<?x5xf64>
  %even = tensor.extract_slice %y[0, 0] [%n, 5] [2, 1] : tensor<?x5xf64> to tensor<?x5xf64>
  %first = tensor.extract_slice %y[0, 0] [%n, 5] [1, 1] : tensor<?x5xf64> to tensor<?x5xf64>
  return %even, %first : tensor<?x5xf64>, tensor<?x5xf64>
}

// -----

// So is what elementwise loops compute of a cast, if its elements are wider than those before.
// CHECK-LABEL: @widened_before
// CHECK: linalg.generic
// CHECK: %[[NARROW:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[NARROW]], %
// CHECK: tensor.extract_slice %[[STORED]]
func.func @widened_before(%x: tensor<?x5xi8>, %wide: tensor<?x5xi32>, %narrow: tensor<?x5xi16>, %n: index) -> tensor<?x5xi16> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x5xi8>) outs(%wide : tensor<?x5xi32>) {
  ^bb0(%in: i8, %out: i32):
    %element = arith.extsi %in : i8 to i32
    linalg.yield %element : i32
  } -> tensor<?x5xi32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x5xi32>) outs(%narrow : tensor<?x5xi16>) {
  ^bb0(%in: i32, %out: i16):
    %element = arith.trunci %in : i32 to i16
    linalg.yield %element : i16
  } -> tensor<?x5xi16>
  %even = tensor.extract_slice %z[0, 0] [%n, 5] [2, 1] : tensor<?x5xi16> to tensor<?x5xi16>
  return %even : tensor<?x5xi16>
}

// -----

// A slice of it is, if a slice of that skips rows.
// CHECK-LABEL: @widened_and_cut
// CHECK: %[[PART:.*]] = tensor.extract_slice
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[PART]], %
// CHECK: tensor.extract_slice %[[STORED]]
func.func @widened_and_cut(%x: tensor<?x5xi8>, %wide: tensor<?x5xi16>, %n: index) -> tensor<?x4xi16> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x5xi8>) outs(%wide : tensor<?x5xi16>) {
  ^bb0(%in: i8, %out: i16):
    %element = arith.extsi %in : i8 to i16
    linalg.yield %element : i16
  } -> tensor<?x5xi16>
  %part = tensor.extract_slice %y[0, 0] [%n, 4] [1, 1] : tensor<?x5xi16> to tensor<?x4xi16>
  %even = tensor.extract_slice %part[0, 0] [%n, 4] [2, 1] : tensor<?x4xi16> to tensor<?x4xi16>
  return %even : tensor<?x4xi16>
}

// -----

// So is a cast of integers to floats of more bits, and none of as many bits.
// CHECK-LABEL: @integers
// CHECK: %[[WIDE:.*]] = linalg.generic
// CHECK: arith.sitofp {{.*}} : i8 to f32
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[WIDE]], %
// CHECK: tensor.extract_slice %[[STORED]]
// CHECK: arith.sitofp {{.*}} : i32 to f32
// CHECK-NOT: compute_barrier
func.func @integers(%x: tensor<?x5xi8>, %y: tensor<?x5xi32>, %wide: tensor<?x5xf32>, %n: index) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x5xi8>) outs(%wide : tensor<?x5xf32>) {
  ^bb0(%in: i8, %out: f32):
    %z = arith.sitofp %in : i8 to f32
    linalg.yield %z : f32
  } -> tensor<?x5xf32>
  %2 = tensor.extract_slice %1[0, 0] [%n, 5] [2, 1] : tensor<?x5xf32> to tensor<?x5xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x5xi32>) outs(%wide : tensor<?x5xf32>) {
  ^bb0(%in: i32, %out: f32):
    %z = arith.sitofp %in : i32 to f32
    linalg.yield %z : f32
  } -> tensor<?x5xf32>
  %4 = tensor.extract_slice %3[0, 0] [%n, 5] [2, 1] : tensor<?x5xf32> to tensor<?x5xf32>
  return %2, %4 : tensor<?x5xf32>, tensor<?x5xf32>
}

// -----

// Reads of a transpose, named or not, and of a cast to more bits are reads of the slice.
// CHECK-LABEL: @transposed
// CHECK: %[[SLICE:.*]] = tensor.extract_slice
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SLICE]])
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[STORED]]
// CHECK: tensor.extract %[[TURNED]]
func.func @transposed(%x: tensor<8x8xf32>, %out: tensor<4x8xf32>, %i: index) -> f32 {
  %slice = tensor.extract_slice %x[0, 0] [8, 4] [1, 2] : tensor<8x8xf32> to tensor<8x4xf32>
  %turned = linalg.transpose ins(%slice : tensor<8x4xf32>) outs(%out : tensor<4x8xf32>) permutation = [1, 0]
  %element = tensor.extract %turned[%i, %i] : tensor<4x8xf32>
  return %element : f32
}

// CHECK-LABEL: @cast_and_transposed
// CHECK: %[[SLICE:.*]] = tensor.extract_slice
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SLICE]])
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]
func.func @cast_and_transposed(%x: tensor<8x8xf16>, %a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %i: index) -> f32 {
  %slice = tensor.extract_slice %x[0, 0] [8, 4] [1, 2] : tensor<8x8xf16> to tensor<8x4xf16>
  %wide = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%slice : tensor<8x4xf16>) outs(%a : tensor<8x4xf32>) {
  ^bb0(%in: f16, %out: f32):
    %y = arith.extf %in : f16 to f32
    linalg.yield %y : f32
  } -> tensor<8x4xf32>
  %turned = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%wide : tensor<8x4xf32>) outs(%b : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %element = tensor.extract %turned[%i, %i] : tensor<4x8xf32>
  return %element : f32
}

// What is computed of a slice before it is read is in memory anyway.
// CHECK-LABEL: @computed
// CHECK-NOT: compute_barrier
func.func @computed(%x: tensor<8x8xf32>, %i: index) -> f32 {
  %slice = tensor.extract_slice %x[0, 0] [8, 4] [1, 2] : tensor<8x8xf32> to tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%slice : tensor<8x4xf32>) {
  ^bb0(%out: f32):
    %z = math.absf %out : f32
    linalg.yield %z : f32
  } -> tensor<8x4xf32>
  %element = tensor.extract %y[%i, %i] : tensor<8x4xf32>
  return %element : f32
}
