// The picture of a graph on a canvas: what is in the window is drawn, as much of it as is legible.

const view = {
  x: 0,
  y: 0,
  scale: 1,
  width: 0,
  height: 0,
  ratio: 1,
  drawn: 0,
  mapped: false,
  labels: [],
};

const DETAILED = 0.72,
  TITLED = 0.3; // scales from which all of a node, or its name, is legible

const FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
let context = null,
  colors = {},
  requested = false;

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "back",
    "panel",
    "text",
    "muted",
    "line",
    "edge",
    "accent",
    "fusion",
    "new",
    "gone",
    "hit",
    "heat",
    ...Object.keys(GROUP_TITLES),
  ];
  colors = Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

function redraw() {
  if (!requested) {
    requested = true;
    requestAnimationFrame(() => {
      requested = false;
      draw();
    });
  }
}

function resizePicture() {
  const canvas = $("canvas"),
    box = canvas.getBoundingClientRect();
  if (!box.width) return;
  Object.assign(view, { width: box.width, height: box.height, ratio: devicePixelRatio || 1 });
  canvas.width = Math.round(box.width * view.ratio);
  canvas.height = Math.round(box.height * view.ratio);
  context = canvas.getContext("2d");
  minimap = null;
  redraw();
}

// The whole graph if that is legible, or as much of its beginning.
function showAll(always = false) {
  const found = graph(),
    margin = 60;
  const whole = Math.min(
    (view.width - margin - MINIMAP) / found.width,
    (view.height - 2 * margin) / found.height,
    1,
  );
  const wide = Math.min((view.width - margin - MINIMAP) / found.width, 1);
  view.scale = Math.max(always || whole >= DETAILED ? whole : Math.max(wide, DETAILED), 0.003);
  view.x = found.width / 2 - (view.width - MINIMAP) / 2 / view.scale;
  view.y =
    found.height * view.scale < view.height - margin
      ? found.height / 2 - view.height / 2 / view.scale
      : -margin / view.scale;
  if (!always && found.nodes.length && found.width * view.scale > view.width) {
    view.x = found.nodes[0].x + found.nodes[0].w / 2 - view.width / 2 / view.scale;
  }
  redraw();
}

function centre(number) {
  const node = graph().nodes[number];
  view.scale = Math.max(view.scale, DETAILED);
  view.x = node.x + node.w / 2 - (view.width - MINIMAP) / 2 / view.scale;
  view.y = node.y + node.h / 2 - view.height / 2 / view.scale;
  redraw();
}

function zoomAt(factor, px, py) {
  const scale = Math.min(Math.max(view.scale * factor, 0.003), 4);
  view.x += px / view.scale - px / scale;
  view.y += py / view.scale - py / scale;
  view.scale = scale;
  redraw();
}

function nodeAt(px, py) {
  const x = view.x + px / view.scale,
    y = view.y + py / view.scale,
    slack = 3 / view.scale;
  const found = graph().nodes;
  for (let i = found.length - 1; i >= 0; i -= 1) {
    const node = found[i];
    if (
      x >= node.x - slack &&
      x <= node.x + node.w + slack &&
      y >= node.y - slack &&
      y <= node.y + node.h + slack
    )
      return i;
  }
  return -1;
}

function draw() {
  if (!context || !model) return;
  const { width, height, ratio, scale } = view;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(
    ratio * scale,
    0,
    0,
    ratio * scale,
    -view.x * scale * ratio,
    -view.y * scale * ratio,
  );
  const area = {
    left: view.x,
    top: view.y,
    right: view.x + width / scale,
    bottom: view.y + height / scale,
  };
  drawEdges(area);
  view.drawn = drawNodes(area);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  view.labels = [];
  if (scale < TITLED) drawLabels(area);
  drawMinimap();
}

function drawEdges(area) {
  const found = neighbours(),
    focus = state.hovered >= 0 ? state.hovered : state.selected;
  const near = new Set();
  if (focus >= 0)
    for (const [, edge] of [...found.above[focus], ...found.below[focus]]) near.add(edge);
  context.lineWidth = Math.max(1.2, 0.7 / view.scale);
  context.strokeStyle = colors.edge;
  context.globalAlpha = near.size ? 0.45 : 0.85;
  context.beginPath();
  found.edges.forEach(([, , line, remote], number) => {
    if (!near.has(number) && inside(line, area)) (remote ? traceEnds : trace)(line);
  });
  context.stroke();
  context.globalAlpha = 1;
  for (const [edges, color] of [
    [found.above[focus] || [], colors.accent],
    [found.below[focus] || [], colors.fusion],
  ]) {
    context.strokeStyle = color;
    context.lineWidth = Math.max(2.4, 1.6 / view.scale);
    context.beginPath();
    for (const [, number] of edges) trace(found.edges[number][2]);
    context.stroke();
  }
  if (view.scale >= TITLED) drawArrows(found, area, near);
}

function inside(line, area) {
  if (line[1] > area.bottom || line[line.length - 1] < area.top) return false;
  let low = Infinity,
    high = -Infinity;
  for (let i = 0; i < line.length; i += 2) {
    low = Math.min(low, line[i]);
    high = Math.max(high, line[i]);
  }
  return low <= area.right && high >= area.left;
}

function trace(line) {
  context.moveTo(line[0], line[1]);
  for (let i = 2; i < line.length; i += 2) {
    const [x0, y0, x1, y1] = [line[i - 2], line[i - 1], line[i], line[i + 1]];
    if (Math.abs(x0 - x1) < 0.5) context.lineTo(x1, y1);
    else context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
  }
}

// An edge too long to follow: it leaves and arrives, and shows as a line when its node is chosen.
function traceEnds(line) {
  const end = line.length,
    lean = Math.sign(line[end - 2] - line[0]) * 5;
  context.moveTo(line[0], line[1]);
  context.lineTo(line[0] + lean, line[1] + 15);
  context.moveTo(line[end - 2] - lean, line[end - 1] - 20);
  context.lineTo(line[end - 2], line[end - 1]);
}

function drawArrows(found, area, near) {
  found.edges.forEach(([, , line], number) => {
    const x = line[line.length - 2],
      y = line[line.length - 1];
    if (x < area.left || x > area.right || y < area.top || y > area.bottom + 20) return;
    context.fillStyle = near.has(number) ? context.strokeStyle : colors.edge;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 4, y - 8);
    context.lineTo(x + 4, y - 8);
    context.fill();
  });
}
