"""Train a small classifier of handwritten digits and export it for the demo.

Needs the ``bench`` extra (torch, scikit-learn); the demo itself needs neither. Writes
``digits.onnx`` and ``digits_heldout.npz`` beside the demo::

    python examples/digits/train_digits.py
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

EXAMPLES = Path(__file__).resolve().parent.parent
SEED = 7
HELD_OUT = 0.25
EPOCHS = 60
BATCH = 64
# A pixel of this data set is the number of dark pixels in a 4x4 block: 0 to 16.
BRIGHTEST = 16.0


class DigitNet(nn.Module):
    """Three convolutions, one pooling, one dense layer: 8x8 pixels to 10 logits."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            _convolution(1, 24),
            _convolution(24, 48),
            nn.MaxPool2d(2),
            _convolution(48, 64),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 4 * 4, 10))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(image / BRIGHTEST))


def _convolution(channels: int, filters: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU()
    )


def split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels for training, then those held out; deterministic."""
    digits = load_digits()
    images = digits.images.astype(np.uint8)[:, None]
    learn, held_out, learn_labels, held_out_labels = train_test_split(
        images, digits.target, test_size=HELD_OUT, random_state=SEED, stratify=digits.target
    )
    return learn, learn_labels, held_out, held_out_labels


def train(images: np.ndarray, labels: np.ndarray) -> DigitNet:
    """Train a new network; every batch is shifted randomly by up to one pixel."""
    torch.manual_seed(SEED)
    model = DigitNet()
    inputs, targets = torch.from_numpy(images).float(), torch.from_numpy(labels).long()
    steps = EPOCHS * -(-len(inputs) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1e-2, total_steps=steps)
    for epoch in range(EPOCHS):
        total = 0.0
        for indices in torch.randperm(len(inputs)).split(BATCH):
            optimiser.zero_grad()
            logits = model(_shifted(inputs[indices]))
            loss = nn.functional.cross_entropy(logits, targets[indices], label_smoothing=0.05)
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(indices)
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1:3d}: loss {total / len(inputs):.4f}", flush=True)
    return model.eval()


def _shifted(images: torch.Tensor) -> torch.Tensor:
    """Move a batch by the same zero or one pixel in each direction."""
    dy, dx = torch.randint(0, 3, (2,)).tolist()
    height, width = images.shape[-2:]
    return nn.functional.pad(images, (1, 1, 1, 1))[..., dy : dy + height, dx : dx + width]


def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of `images` that `model` classifies correctly."""
    with torch.no_grad():
        answers = model(torch.from_numpy(images).float()).argmax(dim=1)
    return float((answers.numpy() == labels).mean())


def export(model: nn.Module, path: Path) -> None:
    """Export the model with a symbolic batch size."""
    with warnings.catch_warnings():
        # The exporter warns of its own deprecation.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            model,
            (torch.zeros(2, 1, 8, 8),),
            str(path),
            input_names=["image"],
            output_names=["logits"],
            dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train and export the digits classifier.")
    parser.add_argument("-o", "--output", type=Path, default=EXAMPLES, metavar="FOLDER")
    options = parser.parse_args()
    learn, learn_labels, held_out, held_out_labels = split()
    model = train(learn, learn_labels)
    print(
        f"accuracy: {accuracy(model, learn, learn_labels):.2%} of {len(learn)} learned, "
        f"{accuracy(model, held_out, held_out_labels):.2%} of {len(held_out)} held out"
    )
    export(model, options.output / "digits.onnx")
    np.savez_compressed(
        options.output / "digits_heldout.npz",
        images=held_out,
        labels=held_out_labels.astype(np.uint8),
    )


if __name__ == "__main__":
    main()
