// A buffer within a larger allocation, at an offset. Codegen/LLVMGPU/ConvertToLLVM.cpp
// (ConvertIREEBindingSubspanOp) makes a descriptor without it where the shape is static and the type
// has no offset, so that the kernel reads and writes at the start of the allocation.
// Workaround: dialects/iree/stream.py, _subspan
// TARGET: cuda
// LACKS: [negated_param_2]

stream.executable private @negated {
  stream.executable.export public @negated workgroups(%n: index) -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %n, %one, %one : index, index, index
  }
  builtin.module {
    func.func @negated(%x: !stream.binding, %y: !stream.binding) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 32>} {
      %zero = arith.constant 0 : index
      %a = stream.binding.subspan %x[%zero] : !stream.binding -> memref<8192xf32>
      %b = stream.binding.subspan %y[%zero] : !stream.binding -> memref<8192xf32>
      %i = stream.dispatch.workgroup.id[0] : index
      %e = memref.load %a[%i] : memref<8192xf32>
      %m = arith.negf %e : f32
      memref.store %m, %b[%i] : memref<8192xf32>
      return
    }
  }
}
func.func @main(%x: tensor<8192xf32>) -> tensor<8192xf32> {
  %n = arith.constant 8192 : index
  %a = flow.dispatch @negated::@negated[%n](%x) : (tensor<8192xf32>) -> tensor<8192xf32>
  %b = flow.dispatch @negated::@negated[%n](%a) : (tensor<8192xf32>) -> tensor<8192xf32>
  %c = flow.dispatch @negated::@negated[%n](%b) : (tensor<8192xf32>) -> tensor<8192xf32>
  return %c : tensor<8192xf32>
}
