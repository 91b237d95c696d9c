// The accuracy of a quantised model: a tab with its nodes, worst first, and a colour.

const EXACT_DB = 60; // above this the error is not shown

const decibels = (ratio) => (ratio === null ? "exact" : `${ratio.toFixed(1)} dB`);

// The least accurate of the ONNX nodes that a node computes.
function nodeLayer(node) {
  if (!model.accuracy) return null;
  if (!model.layers) model.layers = new Map(model.accuracy.layers.map((each) => [each.name, each]));
  const found = (node.origin || []).map((name) => model.layers.get(name)).filter(Boolean);
  return found.reduce((worst, each) => (worst && noiseOf(worst) >= noiseOf(each) ? worst : each), null);
}

// From 0 for an exact value to 1 for one with as much noise as signal.
function noiseOf(layer) {
  if (!layer || layer.sqnr === null) return 0;
  return Math.min(Math.max(1 - layer.sqnr / EXACT_DB, 0), 1);
}

function layerText(layer) {
  const alone = layer.alone === null ? "" : ` · alone ${percent(layer.alone)} of the outputs`;
  return `${decibels(layer.sqnr)}${layer.quantized ? "" : " · f32"}${alone}`;
}

function showAccuracy() {
  const found = model.accuracy;
  if (!found) return;
  const layers = [...found.layers].sort((a, b) => noiseOf(b) - noiseOf(a));
  const facts = [
    fact(found.error === null ? "unknown" : percent(found.error), "error of the outputs (RMS)"),
    fact(String(layers.filter((each) => each.quantized).length), "nodes quantised"),
    fact(String(found.kept.length), "kept in f32 by max_drop"),
    fact(`${bytesText(found.bytes[0])} → ${bytesText(found.bytes[1])}`, "size"),
  ];
  if (found.metric !== "error" && found.loss !== null)
    facts.push(fact(found.loss.toPrecision(3), `loss by ${found.metric}`));
  const rows = layers.map((each) => [
    [decibels(each.sqnr), "number"],
    [bar(noiseOf(each), "heat")],
    [each.alone === null ? "" : percent(each.alone), "number"],
    [each.quantized ? "" : found.kept.includes(each.node) ? "kept in f32" : "f32"],
    [each.op_type],
    [nodeLinks([each.name]), "wide"],
  ]);
  $("accuracy").replaceChildren(
    make("h2", {}, "Accuracy against f32"),
    make("div", { class: "facts" }, ...facts),
    table([["SQNR", "number"], [""], ["alone", "number"], [""], ["type"], ["node"]], rows),
  );
}
