// What stands beside the picture and on the other tabs.

function rowText(row) {
  const rates = [
    [row.gflops, "GFLOP/s"],
    [row.gigabytes, "GB/s"],
  ]
    .filter(([rate]) => rate)
    .map(([rate, unit]) => `${rate.toFixed(1)} ${unit}`);
  return [percent(row.share), milliseconds(row.seconds), ...rates].join(" · ");
}

function describe(number) {
  const node = graph().nodes[number],
    step = nodeStep(number),
    memory = stage().memory;
  const facts = [];
  if (node.outs) facts.push([node.outs.length > 1 ? "results" : "result", node.outs.join(", ")]);
  const rows = nodeRows(node),
    seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
  if (rows.length === 1) facts.push(["time", rowText(rows[0])]);
  if (rows.length > 1)
    facts.push([
      "time",
      `${percent(nodeShare(node))} · ${milliseconds(seconds)} in ${rows.length} kernels`,
    ]);
  facts.push(...placementFacts(node));
  const layer = nodeLayer(node);
  if (layer) facts.push(["accuracy", layerText(layer)]);
  if (step >= 0) {
    const made = memory.buffers.filter((each) => each[2] === step && each[4] === "intermediate");
    const written = made.reduce((sum, each) => sum + each[1], 0);
    if (written)
      facts.push([
        "memory",
        `${bytesText(written)}, to step ${Math.max(...made.map((each) => each[3]))}`,
      ]);
    facts.push([
      "alive here",
      `${bytesText(memory.live[step])} at step ${step} of ${memory.live.length}`,
    ]);
  }
  return facts;
}

function factList(facts) {
  return make(
    "dl",
    {},
    ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
  );
}

function showTip(number, px, py) {
  const tip = $("tip");
  tip.hidden = number < 0;
  if (number < 0) return;
  const node = graph().nodes[number];
  tip.replaceChildren(make("b", {}, titleOf(node)));
  for (const name of (node.origin || []).slice(0, 4))
    tip.append(make("div", { class: "mono" }, name));
  if ((node.origin || []).length > 4)
    tip.append(make("div", { class: "muted" }, `and ${node.origin.length - 4} more`));
  tip.append(factList(describe(number)));
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(px + 16, view.width - box.width - 8))}px`;
  tip.style.top = `${py + 18 + box.height > view.height ? Math.max(8, py - box.height - 12) : py + 18}px`;
}

function showDetails() {
  const panel = $("details");
  panel.replaceChildren(...(state.selected < 0 ? overview() : nodeDetails(state.selected)));
  panel.scrollTop = 0;
}

function link(number, text) {
  return make("a", { onclick: () => select(number, true), tabindex: 0 }, text);
}

function nodeDetails(number) {
  const node = graph().nodes[number],
    found = neighbours();
  const out = [make("h2", {}, titleOf(node)), factList(describe(number))];
  if (node.origin)
    out.push(
      make("h3", {}, node.family === "input" || node.family === "output" ? "Name" : "ONNX nodes"),
      make("ul", { class: "plain mono" }, ...node.origin.map((name) => make("li", {}, name))),
    );
  if (node.inner)
    out.push(
      make("h3", {}, `Fused (${(node.attributes || {}).kind || ""})`.replaceAll('"', "")),
      make(
        "ul",
        { class: "plain" },
        ...node.inner.map(([op, family]) =>
          make(
            "li",
            { class: "key", style: "display:flex" },
            make("span", { class: "swatch", style: `background:var(--${groupOf(family)})` }),
            op,
          ),
        ),
      ),
    );
  if (node.ins)
    out.push(
      make("h3", { class: "edges operands" }, "Operands"),
      make(
        "ul",
        { class: "plain" },
        ...node.ins.map(([source, type]) =>
          make(
            "li",
            {},
            source === null
              ? make("span", { class: "muted" }, "weights")
              : link(source, titleOf(found.nodes[source])),
            " ",
            make("code", {}, type),
          ),
        ),
      ),
    );
  const users = [...new Set(found.below[number].map(([target]) => target))];
  if (users.length)
    out.push(
      make("h3", { class: "edges users" }, `Used by ${users.length > 1 ? users.length : ""}`),
      make(
        "ul",
        { class: "plain" },
        ...users
          .slice(0, 40)
          .map((user) =>
            make(
              "li",
              {},
              link(user, titleOf(found.nodes[user])),
              " ",
              make("span", { class: "muted" }, found.nodes[user].label || ""),
            ),
          ),
      ),
    );
  if (node.attributes)
    out.push(
      make("h3", {}, node.family === "host" ? "Why on the host" : "Attributes"),
      factList(Object.entries(node.attributes)),
    );
  for (const body of node.bodies || [])
    out.push(
      make(
        "p",
        {},
        make("button", { onclick: () => openGraph(body) }, `Open ${stage().graphs[body].title}`),
      ),
    );
  if (node.program)
    out.push(
      make(
        "p",
        {},
        make(
          "button",
          {
            onclick: () =>
              chooseProgram(model.programs.findIndex((each) => each.name.endsWith(node.program))),
          },
          "Open the program of this part",
        ),
      ),
    );
  const fired = rewritesAt(node.origin || []);
  if (fired.length)
    out.push(
      make("h3", {}, "Rewrites at these nodes"),
      make("ul", { class: "plain" }, ...fired.map((text) => make("li", {}, text))),
    );
  const rows = nodeRows(node);
  if (rows.length)
    out.push(
      make("h3", {}, "Kernels"),
      make(
        "ul",
        { class: "plain" },
        ...rows.map((row) =>
          make(
            "li",
            {},
            make("code", {}, row.kernel),
            make("div", { class: "muted" }, rowText(row)),
          ),
        ),
      ),
    );
  return out;
}

function rewritesAt(names) {
  const wanted = new Set(names),
    found = [];
  for (const [name, each] of Object.entries(model.report.rewrites)) {
    if (each.nodes.some((node) => node.split("+").some((part) => wanted.has(part))))
      found.push(name);
    for (const [reason, nodes] of Object.entries(each.declined)) {
      if (nodes.some((node) => node.split("+").some((part) => wanted.has(part))))
        found.push(`${name} declined: ${reason}`);
    }
  }
  return found;
}

function overview() {
  const counts = new Map();
  for (const node of graph().nodes) {
    const name = node.inner ? `fused ${node.inner[0][0]}` : node.op;
    if (GROUP_OF[node.family] !== "border")
      counts.set(name, [(counts.get(name) || [0])[0] + 1, nodeGroup(node)]);
  }
  const rows = [...counts].sort((a, b) => b[1][0] - a[1][0]),
    most = rows.length ? rows[0][1][0] : 1;
  const ops = rows.reduce((sum, [, [count]]) => sum + count, 0);
  const keys = [
    ["/", "search"],
    ["[  ]", "stage before, next"],
    ["+  -  f", "zoom, show all"],
    ["↑ ↓ ← →", "move, or along the edges of the chosen node"],
    ["c", "next colouring"],
    ["Esc", "choose nothing"],
  ];
  return [
    make("h2", {}, stage().name),
    make(
      "p",
      { class: "muted", style: "margin:0" },
      `${plural(ops, "op")}, ${plural(graph().edges.length, "edge")}. Point at a node, or choose one.`,
    ),
    make("h3", {}, "Ops"),
    make(
      "div",
      { style: "display:grid;grid-template-columns:auto auto 1fr;gap:2px 10px;align-items:center" },
      ...rows.slice(0, 40).flatMap(([name, [count, group]]) => [
        make("a", { onclick: () => find(name.replace("fused ", "")), tabindex: 0 }, name),
        make("span", { class: "number" }, String(count)),
        make("div", {
          class: "bar",
          style: `width:${(100 * count) / most}%;background:var(--${group})`,
        }),
      ]),
    ),
    make("h3", {}, "Keys"),
    make(
      "dl",
      {},
      ...keys.flatMap(([key, text]) => [
        make("dt", {}, ...key.split("  ").flatMap((each) => [make("kbd", {}, each), " "])),
        make("dd", {}, text),
      ]),
    ),
  ];
}
