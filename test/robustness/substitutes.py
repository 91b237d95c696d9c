"""Substitutes for numbers, names and sizes."""

import random

INTEGERS = (
    *(0, 1, -1, 2, 3, 7, 16, 63, 64, 65, 127, 255, 256, 1000, 4096, 65535, 1 << 20),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63), -2, -7, -100),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 3.4e38, -3.4e38, float("inf"), float("nan"))
NAMES = (
    *("", " ", "\0", "a\0b", "\n", '"', "'", "\\", "%0", "@main", "^bb0", "//", "#map", "{}"),
    *("../x", "/etc/passwd", "C:\\x", "dense<>", "loc(", "!", "é", "漢字", "\u202e", "\U0001f600"),
    *("None", "lambda", "x" * 300, "x" * 5000, "a.b", "0", "-1", "d_0", "main", "return"),
)
SIZES = (
    *("N", "batch", "N+1", "2*N", "N*M", "N-M", "floordiv(N, 2)", "floordiv(N, 0)", "N//0", "N/2"),
    *("max(N, M)", "min(N)", "max()", "(((N)))", "(" * 300 + "N" + ")" * 300, "N" * 300, "lambda"),
    *("N**99", "9**9**9", "-" * 500 + "N", "+".join(["N"] * 500), "*".join(["(N+M+1)"] * 40)),
    *("*".join(f"(a{i}+b{i})" for i in range(40)), "f(N)", "N.x.y", "1e9", "True", "0x10", "N\0"),
    *("broadcast(N, M)", "floordiv(" * 60 + "N" + ", 3)" * 60, "99999999999999999999", "N M", "é"),
)


def integer(draw: random.Random) -> int:
    """A 64-bit integer: small, or near a limit."""
    choice = draw.random()
    if choice < 0.5:
        return draw.randint(-3, 8)
    return draw.choice(INTEGERS) if choice < 0.9 else draw.randint(-(2**63), 2**63 - 1)


def integers(draw: random.Random, given: list[int]) -> list[int]:
    """`given` with an element changed, added or removed."""
    values = list(given)
    match draw.randrange(6):
        case 0:
            values.insert(draw.randint(0, len(values)), integer(draw))
        case 1 if values:
            del values[draw.randrange(len(values))]
        case 2:
            draw.shuffle(values)
        case 3:
            values = [integer(draw) for _ in range(draw.randint(0, 6))]
        case 4 if values:
            values *= draw.choice((2, 3, 40))
        case _ if values:
            values[draw.randrange(len(values))] = integer(draw)
    return values


def name(draw: random.Random, known: list[str]) -> str:
    """Mostly one of the `known` names, otherwise an odd one."""
    if known and draw.random() < 0.7:
        return draw.choice(known)
    return draw.choice(NAMES)
