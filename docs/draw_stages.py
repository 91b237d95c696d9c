"""Draws docs/stages.svg, the picture of the stages: ``python docs/draw_stages.py``."""

from pathlib import Path

BOXES = [
    ("model.onnx", "weights, nodes", "#e8eaed"),
    ("graph dialect", "typed, located,\nnamed sizes", "#d7e8ff"),
    ("graph dialect", "fused, laid out\nfor the target", "#d7e8ff"),
    ("linalg", "loops over\ntensors", "#ddf3dd"),
    ("model.vmfb", "machine code\nand metadata", "#ffe9cc"),
]
ARROWS = [
    ("frontend/", "one converter\nper operator"),
    ("passes/", "rewrites, counted\nand explained"),
    ("passes/", "one lowering rule\nper op"),
    ("runtime/", "IREE, in a\nchild process"),
]
WIDTH, GAP, HEIGHT, TOP = 132, 124, 84, 24
STYLE = "font-family='system-ui, sans-serif' text-anchor='middle'"


def main() -> None:
    """Write the picture beside this script."""
    width = len(BOXES) * WIDTH + len(ARROWS) * GAP + 16
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} 150' role='img' "
        "aria-label='From an ONNX model to a compiled module'>",
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' "
        "markerHeight='7' orient='auto'><path d='M0 0 L8 4 L0 8 z' fill='#777'/></marker></defs>",
        f"<rect width='{width}' height='150' rx='8' fill='white'/>",
    ]
    for index, box in enumerate(BOXES):
        parts += draw_box(8 + index * (WIDTH + GAP), *box)
    for index, arrow in enumerate(ARROWS):
        parts += draw_arrow(8 + WIDTH + index * (WIDTH + GAP), *arrow)
    path = Path(__file__).with_name("stages.svg")
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def draw_box(x: int, title: str, text: str, colour: str) -> list[str]:
    """A stage: its name, and what is special about the program there."""
    middle = x + WIDTH // 2
    return [
        f"<rect x='{x}' y='{TOP}' width='{WIDTH}' height='{HEIGHT}' rx='8' fill='{colour}' "
        "stroke='#999'/>",
        f"<text x='{middle}' y='{TOP + 28}' font-size='16' font-weight='600' fill='#222' {STYLE}>"
        f"{title}</text>",
        *draw_lines(middle, TOP + 50, text),
    ]


def draw_arrow(x: int, title: str, text: str) -> list[str]:
    """A step: the folder that does it, and how."""
    middle, y = x + GAP // 2, TOP + HEIGHT // 2
    return [
        f"<line x1='{x + 4}' y1='{y}' x2='{x + GAP - 4}' y2='{y}' stroke='#777' stroke-width='2' "
        "marker-end='url(#tip)'/>",
        f"<text x='{middle}' y='{y - 10}' font-size='14' font-weight='600' fill='#345' {STYLE}>"
        f"{title}</text>",
        *draw_lines(middle, y + 20, text),
    ]


def draw_lines(x: int, y: int, text: str) -> list[str]:
    """Lines of small text, one below the other."""
    return [
        f"<text x='{x}' y='{y + 16 * index}' font-size='12' fill='#555' {STYLE}>{line}</text>"
        for index, line in enumerate(text.splitlines())
    ]


if __name__ == "__main__":
    main()
