// What the colours of the picture mean.

function rampEnds() {
  if (state.colors === "accuracy") return [`${EXACT_DB} dB`, "0 dB: as much noise as signal"];
  const most = scaleOf(state.colors);
  return state.colors === "time"
    ? ["0 % of the time", percent(most)]
    : ["0 B alive", bytesText(most)];
}

function showLegend() {
  const legend = $("legend");
  legend.replaceChildren();
  const key = (color, text, outline) =>
    legend.append(
      make(
        "span",
        { class: "key" },
        make("span", {
          class: "swatch",
          style: outline ? `border:2px solid ${color}` : `background:${color}`,
        }),
        text,
      ),
    );
  if (state.colors === "kind") {
    const groups = new Set();
    for (const node of graph().nodes) {
      groups.add(groupOf(node.family === "fusion" ? "other" : node.family));
      for (const [, family] of node.inner || []) groups.add(groupOf(family));
    }
    if (graph().nodes.some((node) => node.inner)) {
      key("var(--fusion)", "fusion, a stripe per op", true);
    }
    for (const name of Object.keys(GROUP_TITLES)) {
      const unused =
        name === "other" &&
        !graph().nodes.some((node) => groupOf(node.family) === "other" && !node.inner);
      if (groups.has(name) && !unused) key(`var(--${name})`, GROUP_TITLES[name], name === "border");
    }
  } else if (state.colors === "device") {
    const inside = graph().nodes.filter((node) => GROUP_OF[node.family] !== "border");
    const used = new Set(inside.map(deviceOf));
    for (const device of model.placement.devices)
      if (used.has(device)) key(`var(--${deviceColor(device)})`, device);
    if (used.has(null)) key("color-mix(in srgb, var(--edge) 20%, var(--panel))", "placed nowhere");
  } else if (state.colors === "changes") {
    const before = state.stage ? program().stages[state.stage - 1].name : "";
    if (before)
      key("var(--new)", `made by this pass (${graph().nodes.filter((node) => node.new).length})`);
    if (!isLast())
      key(
        "var(--gone)",
        `replaced by the next, ${program().stages[state.stage + 1].name} (${goneNodes().size})`,
      );
  } else if (state.colors === "fusions") {
    key(
      "var(--fusion)",
      `ops computed as one kernel (${graph().nodes.filter((node) => node.inner).length} fusions)`,
    );
    key("color-mix(in srgb, var(--edge) 20%, var(--panel))", "all others");
  } else {
    const [low, high] = rampEnds();
    legend.append(
      make(
        "span",
        { class: "key" },
        low,
        make("span", {
          class: "ramp",
          style:
            "background:linear-gradient(90deg,var(--panel),var(--heat));border:1px solid var(--line)",
        }),
        high,
      ),
    );
    if (state.colors === "time" && stage().lost > 0.0005)
      legend.append(
        make("span", { class: "muted" }, `${percent(stage().lost)} belongs to no node here`),
      );
  }
}
