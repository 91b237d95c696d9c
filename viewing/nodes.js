// A node on the canvas: as much of it as is legible at its size.

// The colour of a node and how much of it, from 0 to 1.
function paint(node, number) {
  if (state.colors === "time") return [colors.heat, Math.sqrt(nodeShare(node) / scaleOf("time"))];
  if (state.colors === "memory") return [colors.heat, nodeBytes(number) / scaleOf("memory")];
  if (state.colors === "device") {
    const device = deviceOf(node);
    return device === null ? [colors.edge, 0.08] : [colors[deviceColor(device)], 0.45];
  }
  if (state.colors === "accuracy") return [colors.heat, noiseOf(nodeLayer(node))];
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
    const values = found.nodes.map((node, number) =>
      what === "time" ? nodeShare(node) : nodeBytes(number),
    );
    found[key] = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  }
  return found[key];
}

function drawNodes(area) {
  let drawn = 0;
  const hits = new Set(state.hits.map(([, number]) => number));
  graph().nodes.forEach((node, number) => {
    if (
      node.x > area.right ||
      node.x + node.w < area.left ||
      node.y > area.bottom ||
      node.y + node.h < area.top
    )
      return;
    drawn += 1;
    drawBox(node, number, hits.has(number));
    if (view.scale >= DETAILED) drawText(node, number);
    else if (view.scale >= TITLED) drawTitle(node);
  });
  return drawn;
}

function drawBox(node, number, hit) {
  const [color, amount] = paint(node, number);
  const border = GROUP_OF[node.family] === "border",
    radius = border ? node.h / 2 : 7;
  const shape = () => {
    context.beginPath();
    context.roundRect(node.x, node.y, node.w, node.h, radius);
  };
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
  const mark =
    number === state.selected
      ? colors.accent
      : hit
        ? colors.hit
        : number === state.hovered
          ? colors.text
          : null;
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
    while (short && context.measureText(short + (short === text ? "" : "…")).width > room)
      short = short.slice(0, -1);
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
    write(op, `600 12.5px ${FONT}`, colors.text, row || !badge ? room : room - Math.max(48, 7 * badge.length));
  });
  if (node.label) write(node.label, `11.5px ${FONT}`, colors.muted);
  if (node.outs)
    write(
      node.outs[0] + (node.outs.length > 1 ? ` +${node.outs.length - 1}` : ""),
      `11px ui-monospace, "DejaVu Sans Mono", monospace`,
      colors.muted,
    );
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
  if (state.colors === "memory" && nodeStep(number) >= 0)
    return bytesText(nodeBytes(number)).replace("iB", "");
  if (state.colors === "accuracy" && nodeLayer(node)) return decibels(nodeLayer(node).sqnr);
  if (state.colors === "device" && regionsBegunBy(node).length)
    return milliseconds(regionsBegunBy(node).reduce((sum, each) => sum + predictedOf(each), 0));
  return "";
}

const titleOf = (node) => (node.inner ? node.inner.map(([op]) => op).join(" + ") : node.op);

function drawTitle(node) {
  const size = 11.5 / view.scale,
    room = node.w - 12 / view.scale;
  const text = fit(titleOf(node), `600 ${size.toFixed(1)}px ${FONT}`, room);
  if (text.length < 3 || size > node.h) return;
  context.fillStyle = colors.text;
  context.textBaseline = "middle";
  context.fillText(text, node.x + 9 / view.scale, node.y + node.h / 2);
}
