"""Sounds in the forms in which models take them: waves, frames, spectra.

The spectra are those that the packages compute, with the same windows and scales.
"""

from functools import partial

import numpy as np

from .entry import Maker, Shape
from .spectra import decibels, hann, mel_filters, powers
from .waves import delayed, music, speech

RATE = 16000
FRAME, CONTEXT = 512, 64
"""Samples of a frame for voice activity, and those before it that are repeated."""


def speech_waves(shape: Shape) -> np.ndarray:
    """Another speaker in each row."""
    batch, samples = shape
    return np.stack([speech(samples, seed=i) for i in range(batch)])


def music_waves(rate: int) -> Maker:
    """Other music in each row, of one channel at the end."""

    def make(shape: Shape) -> np.ndarray:
        batch, samples, _ = shape
        return np.stack([music(samples, rate, seed=i) for i in range(batch)])[..., None]

    return make


def voice_frames(shape: Shape) -> np.ndarray:
    """Frames that follow one another, each with the end of the one before it."""
    frames, size = shape
    wave = np.concatenate([np.zeros(CONTEXT, np.float32), speech((frames + 20) * FRAME)])
    wave = wave[20 * FRAME :]  # from the middle of a word
    return np.stack([wave[i * FRAME : i * FRAME + size] for i in range(frames)])


def whisper_mels(shape: Shape) -> np.ndarray:
    """Logarithmic mels as Whisper takes them, frames in the last axis."""
    batch, mels, frames = shape
    size, hop = 400, 160

    def one(seed: int) -> np.ndarray:
        wave = speech(frames * hop, seed=seed)
        wave = (wave - wave.mean()) / np.sqrt(wave.var() + 1e-7)
        power = powers(wave, size, hop, hann(size), "reflect")[:frames]
        mel = np.log10(np.maximum(mel_filters(size, RATE, mels) @ power.T, 1e-10))
        return (np.maximum(mel, mel.max() - 8) + 4) / 4

    return np.stack([one(i) for i in range(batch)]).astype(np.float32)


def quality_mels(shape: Shape) -> np.ndarray:
    """Mels in dB, between -1 and 1, a row for each frame of 10 ms."""
    batch, frames, mels = shape
    waves = (speech(frames * 160, seed=i) for i in range(batch))
    return np.stack([_mels(wave, 321, 160, RATE, mels) for wave in waves]).astype(np.float32)


def word_mels(shape: Shape) -> np.ndarray:
    """Logarithms of mels, a row for each frame of 10 ms, of one channel."""
    batch, _, frames, mels = shape
    waves = (speech((frames - 1) * 160, seed=i) for i in range(batch))
    filters = mel_filters(512, RATE, mels).T
    found = [powers(wave, 512, 160, hann(512), "constant") @ filters for wave in waves]
    return np.log(np.maximum(np.stack(found), 1e-12))[:, None].astype(np.float32)


def wake_mels(shape: Shape) -> np.ndarray:
    """Mels in dB, scaled to about 2, of one channel at the end."""
    batch, frames, mels, _ = shape
    waves = (speech(frames * 160, seed=i) for i in range(batch))
    found = np.stack([_mels(wave, 513, 160, RATE, mels)[:frames] for wave in waves])
    return (2 + found)[..., None].astype(np.float32)


def quality_powers(shape: Shape) -> np.ndarray:
    """Logarithms of the powers of 161 frequencies, a row for each frame of 10 ms."""
    batch, frames, _ = shape
    waves = (speech((frames - 1) * 160, seed=i) for i in range(batch))
    found = [powers(wave, 320, 160, hann(320), "constant") for wave in waves]
    return np.log10(np.maximum(np.stack(found), 1e-12)).astype(np.float32)


def loss_powers(shape: Shape) -> np.ndarray:
    """Logarithms of the powers of 257 frequencies, of speech that has lost some packets."""
    batch, channels, frames, _ = shape
    size, hop = 512, 256

    def one(seed: int) -> np.ndarray:
        wave = speech((frames - 1) * hop, seed=seed)
        lost = np.random.default_rng(seed).uniform(size=len(wave) // 320 + 1) < 0.1
        wave = np.where(np.repeat(lost, 320)[: len(wave)], 0, wave)
        power = powers(wave, size, hop, np.hamming(size + 1)[:-1], "constant")
        return np.log(np.maximum(power, 1e-12))[None] / 20

    return np.stack([one(i) for i in range(batch * channels)]).reshape(shape).astype(np.float32)


def echo_mels(rate: int, dft: int, *, marked: bool) -> Maker:
    """Mels of what a loudspeaker plays, what a microphone hears, and of that without the echo.

    If `marked`, the last 40 frames say that both sides talk.
    """

    def make(shape: Shape) -> np.ndarray:
        batch, _, frames, mels = shape
        heard = frames - 40 if marked else frames
        samples = heard * (dft // 2)
        feature = partial(_mels, size=dft + 1, hop=dft // 2, rate=rate, mels=mels)

        def one(seed: int) -> np.ndarray:
            far, near = speech(samples, rate, 2 * seed), speech(samples, rate, 2 * seed + 1)
            echo = delayed(far, rate // 20)
            waves = (far, near + 0.4 * echo, near + 0.04 * echo)
            spectra = np.stack([feature(wave) for wave in waves])
            marks = np.zeros((3, frames - heard, mels))
            marks[:, : marks.shape[1] // 2] = 1
            return np.concatenate([spectra, marks], 1)

        return np.stack([one(i) for i in range(batch)]).astype(np.float32)

    return make


def _mels(wave: np.ndarray, size: int, hop: int, rate: int, mels: int) -> np.ndarray:
    power = powers(wave, size, hop, hann(size), "constant")
    return (decibels(power @ mel_filters(size, rate, mels).T) + 40) / 40
