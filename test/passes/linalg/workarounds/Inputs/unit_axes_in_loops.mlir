// Loops that update a tensor with a unit axis, in a dispatch region. IREECollapseDimensionsPass
// (DispatchCreation/CollapseDimensions.cpp) collapses the argument of the loop before the loop.
// Workaround: passes/graph_to_linalg/sorting.py, self.flat
// Workaround: passes/graph_to_linalg/detection.py, self.flat
// TARGET: cpu
// FAILS: operand #0 does not dominate this use

!row = tensor<1x6xi64> // FAULT
// WORKAROUND !row = tensor<6xi64>
func.func @main(%x: !row) -> !row {
  %y = flow.dispatch.region -> (!row) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %six = arith.constant 6 : index
    %e = tensor.empty() : !row
    %first = tensor.extract %x[%zero, %zero] : !row // FAULT
    // WORKAROUND %first = tensor.extract %x[%zero] : !row
    %f = tensor.insert %first into %e[%zero, %zero] : !row // FAULT
    // WORKAROUND %f = tensor.insert %first into %e[%zero] : !row
    %r = scf.for %i = %one to %six step %one iter_args(%t = %f) -> !row {
      %j = arith.subi %i, %one : index
      %a = tensor.extract %t[%zero, %j] : !row // FAULT
      // WORKAROUND %a = tensor.extract %t[%j] : !row
      %b = tensor.extract %x[%zero, %i] : !row // FAULT
      // WORKAROUND %b = tensor.extract %x[%i] : !row
      %c = arith.addi %a, %b : i64
      %u = tensor.insert %c into %t[%zero, %i] : !row // FAULT
      // WORKAROUND %u = tensor.insert %c into %t[%i] : !row
      scf.yield %u : !row
    }
    flow.return %r : !row
  }
  return %y : !row
}
