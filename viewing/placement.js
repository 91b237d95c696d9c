// The devices of nodes and regions, as gc-place chose them.

const DEVICE_COLORS = 6;

const deviceColor = (device) =>
  model.placement.devices.includes(device)
    ? `device${model.placement.devices.indexOf(device) % DEVICE_COLORS}`
    : "other";

// Gives the colours of devices their names, before the legend reads them.
function nameDevices() {
  if (!model.placement) return;
  for (const device of model.placement.devices) {
    GROUP_TITLES[deviceColor(device)] = device;
    GROUP_OF[deviceColor(device)] = deviceColor(device);
  }
}

const namesOf = (node) => (node.origin || []).flatMap((name) => name.split("+"));

// The device of most of the ONNX nodes that a node comes from; null where none was placed.
function deviceOf(node) {
  if (!model.placement || GROUP_OF[node.family] === "border") return null;
  const votes = new Map();
  for (const name of namesOf(node)) {
    const device = model.placement.nodes[name];
    if (device !== undefined) votes.set(device, (votes.get(device) || 0) + 1);
  }
  return votes.size ? [...votes].sort((a, b) => b[1] - a[1])[0][0] : null;
}

function regionOf(node) {
  if (!model.placement) return null;
  const found = model.placement;
  if (!found.regionOf) {
    found.regionOf = new Map(found.regions.flatMap((each) => each.nodes.map((name) => [name, each])));
  }
  const name = namesOf(node).find((each) => found.regionOf.has(each));
  return name === undefined ? null : found.regionOf.get(name);
}

// The regions whose first node is among those of a node, beside which their time stands.
function regionsBegunBy(node) {
  if (deviceOf(node) === null) return [];
  const names = new Set(namesOf(node));
  return model.placement.regions.filter((region) => names.has(region.nodes[0]));
}

const predictedOf = (region) => region.seconds[region.device] || 0;
const signed = (seconds) => `${seconds < 0 ? "−" : "+"}${milliseconds(Math.abs(seconds))}`;
const byDevice = (times, spell) =>
  Object.entries(times)
    .map(([device, seconds]) => `${device} ${spell(seconds)}`)
    .join(", ");

function placementFacts(node) {
  const device = deviceOf(node),
    region = regionOf(node);
  if (device === null) return [];
  if (!region) return [["device", device]];
  const others = Object.keys(region.moving).length;
  return [
    ["device", device],
    ["predicted", byDevice(region.seconds, milliseconds)],
    ["moving it", others ? byDevice(region.moving, signed) : "no other device runs it"],
  ];
}

const deviceKey = (device) =>
  make(
    "span",
    { class: "key" },
    make("span", { class: "swatch", style: `background:var(--${deviceColor(device)})` }),
    device,
  );

function placementTables() {
  const { devices, regions, values, seconds, single, measured, nodes } = model.placement;
  const facts = Object.entries(single).map(([device, each]) =>
    fact(milliseconds(each), `predicted on ${device} alone`),
  );
  for (const [name, each] of Object.entries(measured))
    facts.push(fact(milliseconds(each), `measured, ${name}`));
  const count = (device) => Object.values(nodes).filter((each) => each === device).length;
  for (const device of devices) facts.push(fact(String(count(device)), `nodes on ${device}`));
  if (!regions.length)
    return [
      make("div", { class: "facts" }, ...facts),
      make("p", { class: "note" }, "The placement file has no reasons."),
    ];
  const most = Math.max(...regions.map(predictedOf), 1e-12);
  const rows = regions.map((region, number) => [
    [String(number), "number"],
    [deviceKey(region.device)],
    [milliseconds(predictedOf(region)), "number"],
    [bar(predictedOf(region) / most, deviceColor(region.device))],
    [byDevice(region.seconds, milliseconds)],
    [
      Object.keys(region.moving).length
        ? byDevice(region.moving, signed)
        : make("span", { class: "muted" }, "no other device runs it"),
    ],
    [nodeLinks(region.nodes), "wide"],
  ]);
  const out = [
    make(
      "div",
      { class: "facts" },
      fact(seconds === null ? "unknown" : milliseconds(seconds), "predicted for a call"),
      ...facts,
    ),
    table(
      [
        ["region"],
        ["device"],
        ["predicted", "number"],
        [""],
        ["by device"],
        ["cost of moving it"],
        ["nodes"],
      ],
      rows,
    ),
  ];
  const moved = values.flatMap((value) =>
    Object.entries(value.crossings).map(([device, each]) => [value, device, each]),
  );
  if (!moved.length) return out;
  const source = (value) => (value.producer === null ? "the caller" : regions[value.producer].device);
  const crossings = moved.map(([value, device, each]) => [
    [make("code", {}, value.name), "wide"],
    [source(value)],
    [device],
    [bytesText(value.bytes), "number"],
    [milliseconds(each), "number"],
  ]);
  out.push(
    make("h2", {}, "Values that cross devices"),
    table([["value"], ["from"], ["to"], ["size", "number"], ["predicted", "number"]], crossings),
  );
  return out;
}
