"""Random weights with which every parameter of a model matters.

Framework defaults are unsuitable for comparing runtimes: trivial BatchNorm, zero biases, uniform
attention and activations that vanish with depth all hide errors. Here all biases and scales are
random, and the variance stays near one through the whole model.
"""

import torch
from torch import nn

# Transformers' own dense layer, which stores its weight as (in, out).
TRANSPOSED_LINEAR = "Conv1D"
# The last normalisation of a residual branch: its result is added to the input of the branch.
RESIDUAL_ENDS = ("layer.2.normalization", "reduce_1x1.normalization")


def randomise(model: nn.Module, seed: int, calibration: torch.Tensor | None) -> None:
    """Fill `model` with seeded weights, in place.

    Statistics of BatchNorm are taken from one pass over `calibration`, as after training, so that
    activations after a normalisation are neither dead nor saturated.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            _fill(module, generator)
        _fill_free_parameters(model, generator)
        _soften_residuals(model, generator)
    if calibration is not None:
        _calibrate_batch_norm(model, calibration)
    model.eval()


def _fill(module: nn.Module, generator: torch.Generator) -> None:
    """Fill the weights of one layer; containers and unknown layers are left alone."""
    if isinstance(module, nn.Conv2d):
        # Kaiming, for the ReLU that follows.
        _normal(module.weight, (2.0 / module.weight[0].numel()) ** 0.5, generator)
    elif isinstance(module, nn.Linear):
        _normal(module.weight, module.in_features**-0.5, generator)
    elif type(module).__name__ == TRANSPOSED_LINEAR:
        _normal(module.weight, module.weight.shape[0] ** -0.5, generator)
    elif isinstance(module, nn.Embedding):
        _normal(module.weight, 1.0, generator)
        return
    elif isinstance(module, nn.BatchNorm2d | nn.LayerNorm):
        module.weight.uniform_(0.6, 1.4, generator=generator)
    else:
        return
    if module.bias is not None:
        _normal(module.bias, 0.1, generator)


def _fill_free_parameters(model: nn.Module, generator: torch.Generator) -> None:
    """Fill class tokens and learned positions: parameters that belong to no layer.

    Recurrent layers keep their own: with larger ones they are chaotic, and rounding errors grow
    from step to step.
    """
    recurrent = [module for module in model.modules() if isinstance(module, nn.RNNBase)]
    kept = {id(parameter) for module in recurrent for parameter in module.parameters()}
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[2] not in {"weight", "bias"} and id(parameter) not in kept:
            _normal(parameter, 0.5, generator)


def _soften_residuals(model: nn.Module, generator: torch.Generator) -> None:
    """Scale residual branches down, as in trained models.

    If branches were as large as their inputs, rounding errors would grow with every block, and the
    difference of two runtimes would depend on the model more than on them.
    """
    for name, module in model.named_modules():
        if name.endswith(RESIDUAL_ENDS):
            module.weight.uniform_(0.1, 0.4, generator=generator)


def _calibrate_batch_norm(model: nn.Module, batch: torch.Tensor) -> None:
    """Set running statistics to those of `batch`, exactly (momentum 1)."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    model.train()
    with torch.no_grad():
        model(batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


def _normal(parameter: torch.Tensor, std: float, generator: torch.Generator) -> None:
    parameter.normal_(0.0, std, generator=generator)
