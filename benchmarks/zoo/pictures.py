"""Pictures: lines and pages of drawn text, captchas, and scenes of smooth shapes.

A picture has rows, columns and three channels, red first, of values from 0 to 1.
"""

import numpy as np

from .letters import blurred, ink, words


def text_line(height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """Dark words on a light line, which they fill from the left."""
    line = ink(words(3, random), round(0.7 * height))[:, : width - height // 4]
    cover = np.zeros((height, width), np.float32)
    top, left = (height - len(line)) // 2, height // 8
    cover[top : top + len(line), left : left + line.shape[1]] = line
    return _printed(cover, random)


def text_page(height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """A page with lines of text of several sizes."""
    cover = np.zeros((height, width), np.float32)
    top = 24
    while True:
        size = int(random.choice((16, 20, 24, 40)))
        if top + size > height - 16:
            return _printed(cover, random)
        left = 24 + int(random.integers(0, 60))
        line = ink(words(12, random), size)[:, : width - left - 24]
        cover[top : top + size, left : left + line.shape[1]] = line
        top += size + int(random.integers(12, 40))


def captcha(height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """Letters at different heights, crossed by a curve, on a noisy background."""
    cover = np.zeros((height, width), np.float32)
    size = round(0.6 * height)
    left = height // 8
    while left + size < width:
        letter = ink(chr(ord("A") + int(random.integers(26))), size)
        top = int(random.integers(0, height - size + 1))
        cover[top : top + size, left : left + letter.shape[1]] = letter
        left += round(0.85 * size)
    columns = np.arange(width)
    rows = height * (0.5 + 0.3 * np.sin(columns / width * 7 + random.uniform(0, 6)))
    for offset in (0, 1):
        cover[np.clip(rows.astype(int) + offset, 0, height - 1), columns] = 1
    return _printed(cover, random, noise=0.08)


def scene(height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """A scene like a photograph: a gradient, ellipses with soft edges and shades, fine texture."""
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    rows, columns = rows / height, columns / width
    picture = rows[..., None] * random.uniform(0.2, 0.6, 3) + random.uniform(0.1, 0.4, 3)
    for _ in range(12):
        centre, radii = random.uniform(0, 1, 2), random.uniform(0.05, 0.3, 2)
        down, across = (rows - centre[0]) / radii[0], (columns - centre[1]) / radii[1]
        cover = 1 / (1 + np.exp(np.minimum(20 * (down**2 + across**2 - 1), 60)))
        shade = random.uniform(0.1, 0.9, 3) * (1 - 0.3 * down[..., None])
        picture = picture + cover[..., None] * (shade - picture)
    texture = blurred(random.standard_normal((height, width)), 3)
    return np.clip(picture + 0.05 * texture[..., None], 0, 1).astype(np.float32)


def _printed(cover: np.ndarray, random: np.random.Generator, noise: float = 0.02) -> np.ndarray:
    """Ink on paper of light colours, with a little noise."""
    paper, dark = random.uniform(0.8, 1.0, 3), random.uniform(0.0, 0.3, 3)
    picture = paper + cover[..., None] * (dark - paper)
    picture = picture + noise * random.standard_normal((*cover.shape, 1))
    return np.clip(picture, 0, 1).astype(np.float32)
