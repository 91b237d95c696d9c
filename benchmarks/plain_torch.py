"""torch.compile on ResNet-50 and BERT base, where only torch is installed.

::

    python -m graphc.benchmarks.plain_torch --batch 1 8 32

The modules are plain torch ones of the two architectures, with random weights: `architectures` are
those that files are exported from, and need transformers. Inputs and outputs stay on the device.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

RUNS = 60
LAYOUTS = ("contiguous_format", "channels_last")
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
"""Blocks, channels and stride of the stages of ResNet-50."""
LAYERS, HIDDEN, HEADS, TOKENS = 12, 768, 12, 128
"""Sizes of BERT base, and of its input."""


def resnet50() -> Any:
    """ResNet-50 (He et al., 2015), with the stride in the 3x3 convolutions."""
    from torch import nn

    def conv(channels: int, filters: int, size: int, stride: int = 1) -> Any:
        layer = nn.Conv2d(channels, filters, size, stride, size // 2, bias=False)
        return nn.Sequential(layer, nn.BatchNorm2d(filters))

    class Block(nn.Module):
        def __init__(self, channels: int, width: int, stride: int):
            super().__init__()
            self.body = nn.Sequential(
                *(conv(channels, width, 1), nn.ReLU(), conv(width, width, 3, stride), nn.ReLU()),
                conv(width, 4 * width, 1),
            )
            same = channels == 4 * width
            self.shortcut = nn.Identity() if same else conv(channels, 4 * width, 1, stride)

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.body(x) + self.shortcut(x))

    layers, channels = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for blocks, width, stride in STAGES:
        for number in range(blocks):
            layers.append(Block(channels, width, stride if number == 0 else 1))
            channels = 4 * width
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))
    return nn.Sequential(*layers, *head)


def bert() -> Any:
    """BERT base (Devlin et al., 2018), with all tokens in sight of each other."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
            self.wide, self.narrow = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
            self.norm_1, self.norm_2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)

        def forward(self, x: Any, mask: Any) -> Any:
            heads = [
                part(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                for part in (self.q, self.k, self.v)
            ]
            y = nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask)
            x = self.norm_1(x + self.out(y.transpose(1, 2).flatten(2)))
            return self.norm_2(x + self.narrow(nn.functional.gelu(self.wide(x))))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions = nn.Embedding(30522, HIDDEN), nn.Embedding(512, HIDDEN)
            self.norm = nn.LayerNorm(HIDDEN)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

        def forward(self, tokens: Any, mask: Any) -> Any:
            indices = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.norm(self.words(tokens) + self.positions(indices))
            hidden = (1 - mask)[:, None, None].to(x.dtype) * torch.finfo(x.dtype).min
            for layer in self.layers:
                x = layer(x, hidden)
            return x

    return Bert()


def milliseconds(module: Any, inputs: Sequence[Any]) -> float:
    """The median time of a call, after which the host waits for the device."""
    import torch

    compiled = torch.compile(module, mode="reduce-overhead")
    times: list[float] = []
    with torch.inference_mode():
        for _ in range(RUNS + 12):
            start = time.perf_counter()
            compiled(*inputs)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[-RUNS:])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    import torch

    parser = argparse.ArgumentParser(description="Time torch.compile on plain modules on CUDA.")
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 8, 32], help="of ResNet-50")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=LAYOUTS, help="of images")
    parser.add_argument(
        "--dtype", choices=("float16", "bfloat16", "float32", "tf32"), default="float16"
    )
    options = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = options.dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = options.dtype == "tf32"
    dtype = getattr(torch, "float32" if options.dtype == "tf32" else options.dtype)
    where = {"device": "cuda", "dtype": dtype}
    tokens = torch.randint(0, 1000, (1, TOKENS), device="cuda")
    time_ = milliseconds(bert().eval().to(**where), [tokens, torch.ones_like(tokens)])
    print(f"BERT base, {TOKENS} tokens, {options.dtype}: {time_:.3f} ms", flush=True)
    for batch in options.batch:
        for name in options.layouts:
            layout = getattr(torch, name)
            torch.compiler.reset()
            module = resnet50().eval().to(**where).to(memory_format=layout)
            image = torch.randn(batch, 3, 224, 224, **where).to(memory_format=layout)
            time_ = milliseconds(module, [image])
            print(f"ResNet-50, batch {batch}, {options.dtype}, {name}: {time_:.3f} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
