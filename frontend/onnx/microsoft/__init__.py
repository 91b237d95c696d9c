"""Operators of the domain ``com.microsoft``: what ONNX Runtime's optimisers and model builders
write. A family has the same file name as everywhere else; importing the package registers all."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
