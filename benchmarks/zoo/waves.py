"""Synthetic sounds: voices and music, as waves between -1 and 1."""

import numpy as np

VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480))
"""The first three formants in Hz of an a, an i, an u and an e."""
BANDWIDTH = 110.0
HARMONICS = 36
SYLLABLES_PER_SECOND = 4.0
NOTES_PER_SECOND = 4.0
SCALE = (0, 2, 4, 7, 9, 12)
"""Semitones over the root from which melodies are made."""


def speech(samples: int, rate: int = 16000, seed: int = 0) -> np.ndarray:
    """A voice like a speaker's: a pitch that moves, vowels, hissing consonants, pauses."""
    random = np.random.default_rng(seed)
    time = np.arange(samples) / rate
    syllables = int(time[-1] * SYLLABLES_PER_SECOND) + 2 if samples else 2
    place = time * SYLLABLES_PER_SECOND
    pitch = random.uniform(100, 200) * 2 ** (0.15 * _curve(place / 2, syllables, random))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    spoken = random.uniform(size=syllables) > 0.15
    vowels = np.asarray(VOWELS, float)[random.integers(len(VOWELS), size=syllables)]
    formants = [np.interp(place, np.arange(syllables), vowels[:, i]) for i in range(3)]
    voice = np.zeros(samples)
    for harmonic in range(1, HARMONICS):
        frequency = harmonic * pitch
        gain = sum(1 / (1 + ((frequency - each) / BANDWIDTH) ** 2) for each in formants)
        voice += gain / harmonic**0.5 * np.sin(harmonic * phase)
    loudness = (
        np.sin(np.pi * (place % 1)) ** 0.7 * spoken[np.minimum(place.astype(int), syllables - 1)]
    )
    hiss = np.diff(random.standard_normal(samples + 1)) * (place % 1 < 0.2)
    wave = voice * loudness + 0.3 * hiss * loudness + 0.003 * random.standard_normal(samples)
    return _loud(wave)


def music(samples: int, rate: int, seed: int = 0) -> np.ndarray:
    """Plucked strings: a melody over chords, each note with fading overtones."""
    random = np.random.default_rng(seed)
    wave = np.zeros(samples)
    beat = int(rate / NOTES_PER_SECOND)
    root = random.uniform(110, 220)
    for number, start in enumerate(range(0, samples, beat)):
        notes = [24 + int(random.choice(SCALE))]
        if number % 4 == 0:
            notes += [0, 4, 7]
        for note in notes:
            _pluck(wave[start : start + 8 * beat], root * 2 ** (note / 12), rate)
    return _loud(wave + 0.001 * random.standard_normal(samples))


def delayed(wave: np.ndarray, samples: int) -> np.ndarray:
    """`wave`, so many samples later, as an echo is."""
    return np.concatenate([np.zeros(samples, wave.dtype), wave[: len(wave) - samples]])


def _pluck(wave: np.ndarray, pitch: float, rate: int) -> None:
    """Add a note to `wave`."""
    time = np.arange(len(wave)) / rate
    for overtone in range(1, 7):
        if overtone * pitch < 0.45 * rate:
            fading = np.exp(-time * (1.5 + overtone))
            wave += fading * np.sin(2 * np.pi * overtone * pitch * time) / overtone


def _curve(place: np.ndarray, points: int, random: np.random.Generator) -> np.ndarray:
    """A line through random values, one for each whole number."""
    return np.interp(place, np.arange(points), random.standard_normal(points))


def _loud(wave: np.ndarray) -> np.ndarray:
    return (0.5 * wave / max(np.abs(wave).max(initial=0.0), 1e-9)).astype(np.float32)
