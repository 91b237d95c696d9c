"use strict";
// What the page knows: the data, what is chosen, and how values are spelled.

const GROUPS = {
  matmuls: [
    "contraction",
    "convolution",
    "winograd",
    "packed_matmul",
    "direct_convolution",
    "recurrent",
    "col2im",
  ],
  attention: ["attention", "fused_attention"],
  normalization: ["normalization"],
  reduction: ["reduction", "pooling"],
  elementwise: ["elementwise"],
  movement: ["movement", "resampling", "window"],
  indexing: ["indexing", "sorting", "detection", "rois", "trees"],
  conversion: ["quantization", "conversion"],
  control: ["control_flow"],
  other: ["shapes", "random", "fusion", "other"],
};
const GROUP_TITLES = {
  matmuls: "matmuls, convolutions",
  attention: "attention",
  normalization: "normalisation",
  reduction: "reductions, pools",
  elementwise: "elementwise",
  movement: "movement",
  indexing: "indexing, sorting",
  conversion: "casts, quantisation",
  control: "control flow",
  other: "other",
  border: "inputs and outputs",
  native: "compiled",
  host: "on the host",
};
const GROUP_OF = { input: "border", output: "border", native: "native", host: "host" };
for (const [group, families] of Object.entries(GROUPS)) {
  for (const family of families) GROUP_OF[family] = group;
}

const state = {
  program: 0,
  stage: 0,
  graph: 0,
  selected: -1,
  hovered: -1,
  colors: "kind",
  hits: [],
  hit: -1,
};
let model = null;

const $ = (id) => document.getElementById(id);
const program = () => model.programs[state.program];
const stage = () => program().stages[state.stage];
const graph = () => stage().graphs[state.graph];
const isLast = () => state.stage === program().stages.length - 1;
const groupOf = (family) => GROUP_OF[family] || "other";

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// The group by whose colour a node goes: of a fusion, that of the op it began with.
function nodeGroup(node) {
  return groupOf(node.inner ? node.inner[0][1] : node.family);
}

function nodeRows(node) {
  return (node.rows || []).map((row) => model.profile.rows[row]);
}

function nodeShare(node) {
  return nodeRows(node).reduce((sum, row) => sum + row.share, 0);
}

// Where memory is concerned the nodes of the outermost graph are steps.
function nodeStep(number) {
  const memory = stage().memory;
  if (!memory || state.graph !== 0) return -1;
  if (!memory.byNode) memory.byNode = new Map(memory.steps.map((node, step) => [node, step]));
  return memory.byNode.has(number) ? memory.byNode.get(number) : -1;
}

function nodeBytes(number) {
  const step = nodeStep(number);
  return step < 0 ? 0 : stage().memory.live[step];
}

function neighbours() {
  const found = graph();
  if (!found.above) {
    found.above = found.nodes.map(() => []);
    found.below = found.nodes.map(() => []);
    found.edges.forEach(([source, target], number) => {
      found.above[target].push([source, number]);
      found.below[source].push([target, number]);
    });
  }
  return found;
}

// Nodes of the next stage's rewriting: those that are not there any more.
function goneNodes() {
  if (isLast() || !stage().graphs) return new Set();
  const here = graph();
  if (!here.gone) {
    const left = new Map();
    const next = program().stages[state.stage + 1];
    const keyOf = (node) =>
      JSON.stringify([
        node.op,
        node.origin,
        node.outs,
        node.inner,
        (node.ins || []).map((each) => each[1]),
        node.attributes,
      ]);
    for (const each of next.graphs) {
      for (const node of each.nodes) left.set(keyOf(node), (left.get(keyOf(node)) || 0) + 1);
    }
    here.gone = new Set();
    here.nodes.forEach((node, number) => {
      const key = keyOf(node);
      if (left.get(key)) left.set(key, left.get(key) - 1);
      else here.gone.add(number);
    });
  }
  return here.gone;
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit && bytes < 100 ? bytes.toFixed(bytes < 10 ? 2 : 1) : Math.round(bytes)} ${units[unit]}`;
}

// Of names joined by +, the first and how many more there are.
function firstName(name) {
  const [first, ...others] = name.split("+");
  return others.length ? `${first} +${others.length}` : first;
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const milliseconds = (seconds) => `${(1000 * seconds).toFixed(seconds < 0.01 ? 3 : 1)} ms`;
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

// An element with attributes and children; texts are texts, never markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}
