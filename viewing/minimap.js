// The strip beside the picture that shows all of the graph.

const MINIMAP = 76;
let minimap = null;

// The whole graph along the right border, with the window on it.
function drawMinimap() {
  view.mapped = !seesAll();
  if (!view.mapped) return;
  const found = graph(),
    left = view.width - MINIMAP - 8,
    top = 10,
    height = view.height - 20;
  const key = `${state.program}/${state.stage}/${state.graph}/${state.colors}/${view.width}/${view.height}/${colors.back}`;
  if (!minimap || minimap.key !== key) {
    const canvas = new OffscreenCanvas(
      Math.ceil(MINIMAP * view.ratio),
      Math.ceil(height * view.ratio),
    );
    const small = canvas.getContext("2d");
    small.scale(canvas.width / found.width, canvas.height / found.height);
    const least = (1.6 * found.height) / height,
      wide = (3 * found.width) / MINIMAP;
    found.nodes.forEach((node, number) => {
      const [color, amount] = paint(node, number);
      small.globalAlpha = Math.min(state.colors === "kind" ? 0.85 : Math.max(amount, 0.15), 1);
      small.fillStyle = color;
      small.fillRect(node.x, node.y, Math.max(node.w, wide), Math.max(node.h, least));
    });
    minimap = { key, canvas };
  }
  context.fillStyle = colors.panel;
  context.beginPath();
  context.roundRect(left - 5, top - 5, MINIMAP + 10, height + 10, 8);
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = colors.line;
  context.stroke();
  context.drawImage(minimap.canvas, left, top, MINIMAP, height);
  const clamp = (value) => Math.min(Math.max(value, 0), 1);
  const x0 = clamp(view.x / found.width),
    x1 = clamp((view.x + view.width / view.scale) / found.width);
  const y0 = clamp(view.y / found.height),
    y1 = clamp((view.y + view.height / view.scale) / found.height);
  context.strokeStyle = colors.accent;
  context.lineWidth = 2;
  context.strokeRect(
    left + x0 * MINIMAP - 2,
    top + y0 * height,
    Math.max((x1 - x0) * MINIMAP, 2) + 4,
    Math.max((y1 - y0) * height, 4),
  );
}

function seesAll() {
  const found = graph();
  return (
    view.x <= 0 &&
    view.y <= 0 &&
    view.x + view.width / view.scale >= found.width &&
    view.y + view.height / view.scale >= found.height
  );
}

function inMinimap(px) {
  return view.mapped && px > view.width - MINIMAP - 13;
}

function goInMinimap(px, py) {
  const found = graph();
  view.y = ((py - 10) / (view.height - 20)) * found.height - view.height / 2 / view.scale;
  if (found.width * view.scale > view.width) {
    view.x =
      ((px - view.width + MINIMAP + 8) / MINIMAP) * found.width - view.width / 2 / view.scale;
  }
  redraw();
}
