// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @unknown(%x: tensor<8x32xf32>) -> tensor<1x7x80xf32> {
  // expected-error@+1 {{blocks must be one of 2x2x2, 2x3x3, not '9x9x9'}}
  %0 = "graph.strassen_terms"(%x) {blocks = "9x9x9", replicas = 1 : i64} : (tensor<8x32xf32>) -> tensor<1x7x80xf32>
  return %0 : tensor<1x7x80xf32>
}

// -----

func.func @uneven(%x: tensor<8x32xf32>) -> tensor<1x15x56xf32> {
  // expected-error@+1 {{32 elements are not 3 equal blocks}}
  %0 = "graph.strassen_terms"(%x) {blocks = "2x3x3", replicas = 1 : i64} : (tensor<8x32xf32>) -> tensor<1x15x56xf32>
  return %0 : tensor<1x15x56xf32>
}

// -----

func.func @sums(%x: tensor<1x7x80xf32>, %w: tensor<1x7x16x16xf32>) -> tensor<10x32xf32> {
  // expected-error@+1 {{sums 1x7x80xf32 and 1x7x16x16xf32 are not those of 2x2x2 for rows [10]}}
  %0 = "graph.strassen_matmul"(%x, %w) {blocks = "2x2x2", columns = 32 : i64, lanes = 16 : i64, mr = 6 : i64, shape = array<i64: 10>, workgroups = 8 : i64} : (tensor<1x7x80xf32>, tensor<1x7x16x16xf32>) -> tensor<10x32xf32>
  return %0 : tensor<10x32xf32>
}

// -----

func.func @columns(%x: tensor<1x7x80xf32>, %w: tensor<1x7x16x16xf32>) -> tensor<8x34xf32> {
  // expected-error@+1 {{panels 1x7x16x16xf32 do not hold 7 matrices of 34 columns}}
  %0 = "graph.strassen_matmul"(%x, %w) {blocks = "2x2x2", columns = 34 : i64, lanes = 16 : i64, mr = 6 : i64, shape = array<i64: 8>, workgroups = 8 : i64} : (tensor<1x7x80xf32>, tensor<1x7x16x16xf32>) -> tensor<8x34xf32>
  return %0 : tensor<8x34xf32>
}

// -----

func.func @replicas(%x: tensor<8x32xf32>) -> tensor<0x7x80xf32> {
  // expected-error@+1 {{cannot make 0 replicas}}
  %0 = "graph.strassen_terms"(%x) {blocks = "2x2x2", replicas = 0 : i64} : (tensor<8x32xf32>) -> tensor<0x7x80xf32>
  return %0 : tensor<0x7x80xf32>
}

// -----

func.func @places(%x: tensor<?x32xf32, ["rows"]>, %w: tensor<1x7x16x16xf32>) -> tensor<?x32xf32, ["rows"]> {
  // expected-error@+1 {{panels 1x7x16x16xf32 do not hold 9 matrices of 32 columns}}
  %0 = "graph.plain_or_strassen_matmul"(%x, %w) {blocks = "2x2x2", columns = 32 : i64, few_rows = 0 : i64, lanes = 16 : i64, least = 8 : i64, mr = 6 : i64, replicas = 1 : i64, workgroups = 4 : i64} : (tensor<?x32xf32, ["rows"]>, tensor<1x7x16x16xf32>) -> tensor<?x32xf32, ["rows"]>
  return %0 : tensor<?x32xf32, ["rows"]>
}

// -----

func.func @least(%x: tensor<?x32xf32, ["rows"]>, %w: tensor<1x9x16x16xf32>) -> tensor<?x32xf32, ["rows"]> {
  // expected-error@+1 {{cannot sum the blocks of 0 rows 1 times}}
  %0 = "graph.plain_or_strassen_matmul"(%x, %w) {blocks = "2x2x2", columns = 32 : i64, few_rows = 0 : i64, lanes = 16 : i64, least = 0 : i64, mr = 6 : i64, replicas = 1 : i64, workgroups = 4 : i64} : (tensor<?x32xf32, ["rows"]>, tensor<1x9x16x16xf32>) -> tensor<?x32xf32, ["rows"]>
  return %0 : tensor<?x32xf32, ["rows"]>
}
