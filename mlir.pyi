"""What type checkers see of `mlir`: the modules of the wheel have no types, their stubs here do."""

from .stubs import arith as arith
from .stubs import cf as cf
from .stubs import ext as ext
from .stubs import func as func
from .stubs import ir as ir
from .stubs import irdl as irdl
from .stubs import linalg as linalg
from .stubs import llvm as llvm
from .stubs import math as math
from .stubs import memref as memref
from .stubs import nvgpu as nvgpu
from .stubs import passmanager as passmanager
from .stubs import rewrite as rewrite
from .stubs import scf as scf
from .stubs import tensor as tensor
from .stubs import vector as vector

def create_context() -> ir.Context: ...
