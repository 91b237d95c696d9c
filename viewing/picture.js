// The picture of a graph on a canvas: what is in the window is drawn, as much of it as is legible.

const view = { x: 0, y: 0, scale: 1, width: 0, height: 0, ratio: 1, drawn: 0, mapped: false, labels: [] };
const MINIMAP = 76;
const DETAILED = 0.72, TITLED = 0.3; // scales from which all of a node, or its name, is legible
const FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
let context = null, minimap = null, colors = {}, requested = false;

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const names = ["back", "panel", "text", "muted", "line", "edge", "accent", "fusion", "new", "gone", "hit", "heat", ...Object.keys(GROUP_TITLES)];
  colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function redraw() {
  if (!requested) {
    requested = true;
    requestAnimationFrame(() => { requested = false; draw(); });
  }
}

function resizePicture() {
  const canvas = $("canvas"), box = canvas.getBoundingClientRect();
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
  const found = graph(), margin = 60;
  const whole = Math.min((view.width - margin - MINIMAP) / found.width, (view.height - 2 * margin) / found.height, 1);
  const wide = Math.min((view.width - margin - MINIMAP) / found.width, 1);
  view.scale = Math.max(always || whole >= DETAILED ? whole : Math.max(wide, DETAILED), 0.003);
  view.x = found.width / 2 - (view.width - MINIMAP) / 2 / view.scale;
  view.y = found.height * view.scale < view.height - margin
    ? found.height / 2 - view.height / 2 / view.scale : -margin / view.scale;
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
  const x = view.x + px / view.scale, y = view.y + py / view.scale, slack = 3 / view.scale;
  const found = graph().nodes;
  for (let i = found.length - 1; i >= 0; i -= 1) {
    const node = found[i];
    if (x >= node.x - slack && x <= node.x + node.w + slack && y >= node.y - slack && y <= node.y + node.h + slack) return i;
  }
  return -1;
}

// The colour of a node and how much of it, from 0 to 1.
function paint(node, number) {
  if (state.colors === "time") return [colors.heat, Math.sqrt(nodeShare(node) / scaleOf("time"))];
  if (state.colors === "memory") return [colors.heat, nodeBytes(number) / scaleOf("memory")];
  if (state.colors === "changes") {
    if (goneNodes().has(number)) return [colors.gone, 0.75];
    return node.new ? [colors.new, 0.75] : [colors.edge, 0.08];
  }
  if (state.colors === "fusions") return node.inner ? [colors.fusion, 0.75] : [colors.edge, 0.08];
  return [colors[nodeGroup(node)], GROUP_OF[node.family] === "border" ? 0.05 : 0.18];
}

function scaleOf(what) {
  const found = graph();
  const key = `most-${what}`;
  if (found[key] === undefined) {
    const values = found.nodes.map((node, number) => (what === "time" ? nodeShare(node) : nodeBytes(number)));
    found[key] = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  }
  return found[key];
}

function draw() {
  if (!context || !model) return;
  const { width, height, ratio, scale } = view;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, -view.x * scale * ratio, -view.y * scale * ratio);
  const area = { left: view.x, top: view.y, right: view.x + width / scale, bottom: view.y + height / scale };
  drawEdges(area);
  view.drawn = drawNodes(area);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  view.labels = [];
  if (scale < TITLED) drawLabels(area);
  drawMinimap();
}

function drawEdges(area) {
  const found = neighbours(), focus = state.hovered >= 0 ? state.hovered : state.selected;
  const near = new Set();
  if (focus >= 0) for (const [, edge] of [...found.above[focus], ...found.below[focus]]) near.add(edge);
  context.lineWidth = Math.max(1.2, 0.7 / view.scale);
  context.strokeStyle = colors.edge;
  context.globalAlpha = near.size ? 0.45 : 0.85;
  context.beginPath();
  found.edges.forEach(([, , line, remote], number) => {
    if (!near.has(number) && inside(line, area)) (remote ? traceEnds : trace)(line);
  });
  context.stroke();
  context.globalAlpha = 1;
  for (const [edges, color] of [[found.above[focus] || [], colors.accent], [found.below[focus] || [], colors.fusion]]) {
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
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < line.length; i += 2) { low = Math.min(low, line[i]); high = Math.max(high, line[i]); }
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
  const end = line.length, lean = Math.sign(line[end - 2] - line[0]) * 5;
  context.moveTo(line[0], line[1]);
  context.lineTo(line[0] + lean, line[1] + 15);
  context.moveTo(line[end - 2] - lean, line[end - 1] - 20);
  context.lineTo(line[end - 2], line[end - 1]);
}

function drawArrows(found, area, near) {
  found.edges.forEach(([, , line], number) => {
    const x = line[line.length - 2], y = line[line.length - 1];
    if (x < area.left || x > area.right || y < area.top || y > area.bottom + 20) return;
    context.fillStyle = near.has(number) ? context.strokeStyle : colors.edge;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 4, y - 8);
    context.lineTo(x + 4, y - 8);
    context.fill();
  });
}

function drawNodes(area) {
  let drawn = 0;
  const hits = new Set(state.hits.map(([, number]) => number));
  graph().nodes.forEach((node, number) => {
    if (node.x > area.right || node.x + node.w < area.left || node.y > area.bottom || node.y + node.h < area.top) return;
    drawn += 1;
    drawBox(node, number, hits.has(number));
    if (view.scale >= DETAILED) drawText(node, number);
    else if (view.scale >= TITLED) drawTitle(node);
  });
  return drawn;
}

function drawBox(node, number, hit) {
  const [color, amount] = paint(node, number);
  const border = GROUP_OF[node.family] === "border", radius = border ? node.h / 2 : 7;
  const shape = () => { context.beginPath(); context.roundRect(node.x, node.y, node.w, node.h, radius); };
  shape();
  context.fillStyle = colors.panel;
  context.fill();
  context.globalAlpha = Math.min(view.scale < TITLED ? Math.max(amount * 2.8, 0.06) : amount, 1);
  context.fillStyle = color;
  context.fill();
  context.globalAlpha = 1;
  const line = 1 / Math.max(view.scale, 0.4);
  context.lineWidth = node.inner ? 2 * line : line;
  context.strokeStyle = node.inner ? colors.fusion : state.colors === "kind" ? color : colors.edge;
  context.stroke();
  if (!border && view.scale >= TITLED) drawStripes(node);
  const mark = number === state.selected ? colors.accent : hit ? colors.hit : number === state.hovered ? colors.text : null;
  if (mark) {
    const gap = 3 / Math.max(view.scale, 0.5);
    context.beginPath();
    context.roundRect(node.x - gap, node.y - gap, node.w + 2 * gap, node.h + 2 * gap, radius + gap);
    context.lineWidth = (number === state.hovered && !hit ? 1.2 : 3) / Math.max(view.scale, 0.25);
    context.strokeStyle = mark;
    context.stroke();
  }
}

// What each op of a fusion is, as a stripe beside its name.
function drawStripes(node) {
  const rows = node.inner || [[node.op, node.family]];
  const line = node.inner ? 17 : node.h - 10;
  rows.forEach(([, family], row) => {
    context.fillStyle = colors[groupOf(family)];
    context.fillRect(node.x + 5, node.y + 6 + row * line, 3.5, line - 2);
  });
}

const fitted = new Map();
function fit(text, font, room) {
  const key = `${font}|${Math.round(room)}|${text}`;
  if (!fitted.has(key)) {
    context.font = font;
    let short = text;
    while (short && context.measureText(short + (short === text ? "" : "…")).width > room) short = short.slice(0, -1);
    fitted.set(key, short === text ? text : short ? `${short}…` : "");
  }
  context.font = font;
  return fitted.get(key);
}

function drawText(node, number) {
  const room = node.w - 22;
  let y = node.y + 18;
  const write = (text, font, color, space = room) => {
    context.fillStyle = color;
    context.fillText(fit(text, font, space), node.x + 14, y);
    y += 17;
  };
  const badge = badgeOf(node, number);
  context.textBaseline = "alphabetic";
  (node.inner || [[node.op]]).forEach(([op], row) => {
    write(op, `600 12.5px ${FONT}`, colors.text, row || !badge ? room : room - 48);
  });
  if (node.label) write(node.label, `11.5px ${FONT}`, colors.muted);
  if (node.outs) write(node.outs[0] + (node.outs.length > 1 ? ` +${node.outs.length - 1}` : ""), `11px ui-monospace, "DejaVu Sans Mono", monospace`, colors.muted);
  if (badge) {
    context.font = `600 11px ${FONT}`;
    context.fillStyle = colors.text;
    context.textAlign = "right";
    context.fillText(badge, node.x + node.w - 8, node.y + 18);
    context.textAlign = "left";
  }
}

function badgeOf(node, number) {
  if (state.colors === "time" && node.rows) return percent(nodeShare(node));
  if (state.colors === "memory" && nodeStep(number) >= 0) return bytesText(nodeBytes(number)).replace("iB", "");
  return "";
}

const titleOf = (node) => (node.inner ? node.inner.map(([op]) => op).join(" + ") : node.op);

function drawTitle(node) {
  const size = 11.5 / view.scale, room = node.w - 12 / view.scale;
  const text = fit(titleOf(node), `600 ${size.toFixed(1)}px ${FONT}`, room);
  if (text.length < 3 || size > node.h) return;
  context.fillStyle = colors.text;
  context.textBaseline = "middle";
  context.fillText(text, node.x + 9 / view.scale, node.y + node.h / 2);
}

// From far away: the names of the nodes that matter most, where there is room beside them.
function drawLabels(area) {
  const found = graph().nodes, weight = (node, number) =>
    (state.hovered === number || state.selected === number ? 9 : 0) + nodeShare(node) +
    (node.family === "input" || node.family === "output" ? 2 : 0) + (state.colors === "kind" ? 0 : 4 * paint(node, number)[1]) + (node.inner ? 0.5 : 0) +
    ({ products: 0.4, attention: 0.45 }[nodeGroup(node)] || 0);
  const visible = found.map((node, number) => [node, number])
    .filter(([node]) => node.x < area.right && node.x + node.w > area.left && node.y < area.bottom && node.y + node.h > area.top)
    .map(([node, number]) => [node, number, weight(node, number), (number * 0.6180339887) % 1]) // alike: from all over
    .sort((a, b) => b[2] - a[2] || a[3] - b[3]);
  const taken = occupied(visible);
  context.font = `11.5px ${FONT}`;
  context.textBaseline = "middle";
  for (const [node] of visible.slice(0, 400)) {
    const text = titleOf(node).slice(0, 40) + (node.label ? `  ${node.label}` : "");
    const x = (node.x + node.w - view.x) * view.scale + 5, y = (node.y + node.h / 2 - view.y) * view.scale;
    const box = [x - 1, y - 9, x + context.measureText(text).width + 4, y + 9];
    if (box[2] > view.width - MINIMAP - 8 || !take(taken, box)) continue;
    view.labels.push(box);
    context.fillStyle = colors.back;
    context.globalAlpha = 0.82;
    context.fillRect(box[0], box[1] + 1, box[2] - box[0], 16);
    context.globalAlpha = 1;
    context.fillStyle = colors.text;
    context.fillText(text, x, y);
    if (view.labels.length >= 80) break;
  }
}

// What lies on each line of the window, ROW pixels high: the nodes, and then the labels.
const ROW = 6;

function occupied(visible) {
  const rows = new Map();
  for (const [node] of visible) {
    const x = (node.x - view.x) * view.scale, y = (node.y - view.y) * view.scale;
    occupy(rows, [x, y, x + node.w * view.scale, y + node.h * view.scale]);
  }
  return rows;
}

function occupy(rows, [x0, y0, x1, y1]) {
  for (let row = Math.floor(y0 / ROW); row <= Math.floor(y1 / ROW); row += 1) {
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push([x0, x1]);
  }
}

// Whether there was room for a label, which then is taken.
function take(rows, box) {
  const first = Math.floor((box[1] + 2) / ROW), last = Math.floor((box[3] - 2) / ROW);
  for (let row = first; row <= last; row += 1) {
    if ((rows.get(row) || []).some(([x0, x1]) => box[0] < x1 && box[2] > x0)) return false;
  }
  occupy(rows, box);
  return true;
}

// The whole graph along the right border, with the window on it.
function drawMinimap() {
  view.mapped = !seesAll();
  if (!view.mapped) return;
  const found = graph(), left = view.width - MINIMAP - 8, top = 10, height = view.height - 20;
  const key = `${state.program}/${state.stage}/${state.graph}/${state.colors}/${view.width}/${view.height}/${colors.back}`;
  if (!minimap || minimap.key !== key) {
    const canvas = new OffscreenCanvas(Math.ceil(MINIMAP * view.ratio), Math.ceil(height * view.ratio));
    const small = canvas.getContext("2d");
    small.scale(canvas.width / found.width, canvas.height / found.height);
    const least = 1.6 * found.height / height, wide = 3 * found.width / MINIMAP;
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
  const x0 = clamp(view.x / found.width), x1 = clamp((view.x + view.width / view.scale) / found.width);
  const y0 = clamp(view.y / found.height), y1 = clamp((view.y + view.height / view.scale) / found.height);
  context.strokeStyle = colors.accent;
  context.lineWidth = 2;
  context.strokeRect(left + x0 * MINIMAP - 2, top + y0 * height, Math.max((x1 - x0) * MINIMAP, 2) + 4, Math.max((y1 - y0) * height, 4));
}

function seesAll() {
  const found = graph();
  return view.x <= 0 && view.y <= 0 && view.x + view.width / view.scale >= found.width && view.y + view.height / view.scale >= found.height;
}

function inMinimap(px) {
  return view.mapped && px > view.width - MINIMAP - 13;
}

function goInMinimap(px, py) {
  const found = graph();
  view.y = ((py - 10) / (view.height - 20)) * found.height - view.height / 2 / view.scale;
  if (found.width * view.scale > view.width) {
    view.x = ((px - view.width + MINIMAP + 8) / MINIMAP) * found.width - view.width / 2 / view.scale;
  }
  redraw();
}
