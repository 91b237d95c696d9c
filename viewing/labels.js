// Names beside nodes that are too small to hold them, none over another or over a node.

const ROW = 6; // pixels: what is taken is kept by rows of so many

// From far away: the names of the nodes that matter most, where there is room beside them.
function drawLabels(area) {
  const found = graph().nodes,
    weight = (node, number) =>
      (state.hovered === number || state.selected === number ? 9 : 0) +
      nodeShare(node) +
      (node.family === "input" || node.family === "output" ? 2 : 0) +
      (state.colors === "kind" ? 0 : 4 * paint(node, number)[1]) +
      (node.inner ? 0.5 : 0) +
      ({ matmuls: 0.4, attention: 0.45 }[nodeGroup(node)] || 0);
  const visible = found
    .map((node, number) => [node, number])
    .filter(
      ([node]) =>
        node.x < area.right &&
        node.x + node.w > area.left &&
        node.y < area.bottom &&
        node.y + node.h > area.top,
    )
    .map(([node, number]) => [node, number, weight(node, number), (number * 0.6180339887) % 1]) // alike: from all over
    .sort((a, b) => b[2] - a[2] || a[3] - b[3]);
  const taken = occupied(visible);
  context.font = `11.5px ${FONT}`;
  context.textBaseline = "middle";
  for (const [node] of visible.slice(0, 400)) {
    const text = titleOf(node).slice(0, 40) + (node.label ? `  ${node.label}` : "");
    const x = (node.x + node.w - view.x) * view.scale + 5,
      y = (node.y + node.h / 2 - view.y) * view.scale;
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

// What lies on each line of the window: the nodes, and then the labels.
function occupied(visible) {
  const rows = new Map();
  for (const [node] of visible) {
    const x = (node.x - view.x) * view.scale,
      y = (node.y - view.y) * view.scale;
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
  const first = Math.floor((box[1] + 2) / ROW),
    last = Math.floor((box[3] - 2) / ROW);
  for (let row = first; row <= last; row += 1) {
    if ((rows.get(row) || []).some(([x0, x1]) => box[0] < x1 && box[2] > x0)) return false;
  }
  occupy(rows, box);
  return true;
}
