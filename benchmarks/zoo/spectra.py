"""Spectra of waves: powers by frequency or on the mel scale, frame by frame."""

import numpy as np

MEL_HZ = 200 / 3
"""Hz of a mel up to 1000 Hz, as in Slaney's scale; above it mels are logarithmic."""
KNEE_HZ, KNEE_MEL = 1000.0, 15.0
LOG_STEP = np.log(6.4) / 27


def powers(wave: np.ndarray, size: int, hop: int, window: np.ndarray, pad: str) -> np.ndarray:
    """Squared magnitudes, a row for each frame: frames are centred, the ends padded as `pad`."""
    half = size // 2
    padded = np.pad(wave.astype(np.float64), (half, half), mode=pad)  # type: ignore[call-overload]
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    return np.abs(np.fft.rfft(frames * window)) ** 2


def hann(size: int) -> np.ndarray:
    """The periodic Hann window."""
    return np.hanning(size + 1)[:-1]


def mel_filters(size: int, rate: int, mels: int) -> np.ndarray:
    """Triangles of equal area on the mel scale, a row for each."""
    edges = _hz(np.linspace(0, _mel(rate / 2), mels + 2))
    frequencies = np.linspace(0, rate / 2, size // 2 + 1)
    slopes = edges[:, None] - frequencies
    widths = np.diff(edges)[:, None]
    filters = np.maximum(0, np.minimum(-slopes[:-2] / widths[:-1], slopes[2:] / widths[1:]))
    return filters * (2 / (edges[2:] - edges[:-2]))[:, None]


def decibels(power: np.ndarray, span: float = 80.0) -> np.ndarray:
    """Powers in dB below the largest, at most `span` below it."""
    floored = 10 * np.log10(np.maximum(power, 1e-10))
    floored -= floored.max()
    return np.maximum(floored, -span)


def _mel(hz: float) -> float:
    return hz / MEL_HZ if hz < KNEE_HZ else KNEE_MEL + float(np.log(hz / KNEE_HZ)) / LOG_STEP


def _hz(mel: np.ndarray) -> np.ndarray:
    return np.where(mel < KNEE_MEL, mel * MEL_HZ, KNEE_HZ * np.exp(LOG_STEP * (mel - KNEE_MEL)))
