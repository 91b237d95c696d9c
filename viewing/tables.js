// The tabs beside the graph: rewrites, passes, placement.

const fact = (value, text) =>
  make("div", { class: "fact" }, make("b", {}, value), make("span", {}, text));

function table(headings, rows) {
  const cell = (tag, [content, kind]) => make(tag, kind ? { class: kind } : {}, content);
  return make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...headings.map((each) => cell("th", each)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((each) => cell("td", each))))),
  );
}

const bar = (share, color = "accent") =>
  make("div", {
    class: "bar",
    style: `width:${Math.max(160 * share, 1)}px;background:var(--${color})`,
  });

// Names of nodes that lead to the picture.
function nodeLinks(nodes, most = 6) {
  const span = make("span", { class: "mono" });
  const show = (names) =>
    names.forEach((name, index) =>
      span.append(
        index ? ", " : "",
        make(
          "a",
          { tabindex: 0, title: name.replaceAll("+", "\n"), onclick: () => goToName(name) },
          firstName(name),
        ),
      ),
    );
  const distinct = [...new Set(nodes)];
  show(distinct.slice(0, most));
  if (distinct.length > most) {
    const more = make(
      "a",
      {
        tabindex: 0,
        onclick: () => {
          more.remove();
          span.append(", ");
          show(distinct.slice(most));
        },
      },
      ` … ${distinct.length - most} more`,
    );
    span.append(more);
  }
  return span;
}

function showRewrites() {
  const rewrites = Object.entries(model.report.rewrites).sort((a, b) => b[1].count - a[1].count);
  const rows = [];
  for (const [name, each] of rewrites) {
    if (each.count)
      rows.push([
        [make("code", {}, name)],
        [String(each.count), "number"],
        [each.checked ? `fired, ${each.checked} checked` : "fired"],
        [nodeLinks(each.nodes), "wide"],
      ]);
    for (const [reason, nodes] of Object.entries(each.declined)) {
      rows.push([
        [make("code", { class: each.count ? "muted" : "" }, name)],
        [String(nodes.length), "number"],
        [make("span", {}, make("b", { style: "color:var(--gone)" }, "declined: "), reason), "wide"],
        [nodeLinks(nodes), "wide"],
      ]);
    }
    for (const [reason, nodes] of Object.entries(each.unchecked)) {
      rows.push([
        [make("code", { class: "muted" }, name)],
        [String(nodes.length), "number"],
        [`not checked: ${reason}`, "wide"],
        [nodeLinks(nodes), "wide"],
      ]);
    }
  }
  const fired = rewrites.reduce((sum, [, each]) => sum + each.count, 0);
  const declined = rewrites.reduce(
    (sum, [, each]) => sum + Object.values(each.declined).flat().length,
    0,
  );
  $("rewrites").replaceChildren(
    make("h2", {}, "Rewrites"),
    make(
      "div",
      { class: "facts" },
      fact(String(fired), "fired"),
      fact(String(declined), "declined"),
    ),
    rows.length
      ? table([["rewrite"], ["times", "number"], ["what"], ["at"]], rows)
      : make("p", { class: "note" }, "Nothing was rewritten."),
  );
}

function showPasses() {
  const passes = model.report.passes,
    most = Math.max(...passes.map((each) => each.seconds), 1e-9);
  const total = passes.reduce((sum, each) => sum + each.seconds, 0);
  const rows = passes.map((each) => [
    [make("code", {}, each.name)],
    [(1000 * each.seconds).toFixed(1), "number"],
    [bar(each.seconds / most)],
    [
      make(
        "span",
        { class: "muted" },
        each.changed === null ? "" : each.changed ? "changed the program" : "no change",
      ),
    ],
  ]);
  const sizes = Object.entries(model.report.sizes).map(([name, size]) =>
    fact(name.endsWith("bytes") ? bytesText(size) : String(size), name.replace(/ bytes$/, "")),
  );
  $("passes").replaceChildren(
    make("h2", {}, "Passes and stages"),
    make("div", { class: "facts" }, fact(milliseconds(total), "in all"), ...sizes),
    table([["pass"], ["ms", "number"], [""], [""]], rows),
  );
}

function showPlacement() {
  const parts = model.report.parts,
    panel = $("placement");
  panel.replaceChildren(make("h2", {}, "Where the nodes run"));
  if (model.placement) {
    panel.append(...placementTables());
    return;
  }
  if (!parts.length) {
    panel.append(
      make("p", { class: "note" }, "All of the model is compiled; nothing runs on the host."),
    );
    return;
  }
  const host = parts.filter((part) => !part.native);
  const count = (list) => list.reduce((sum, part) => sum + part.nodes.length, 0);
  panel.append(
    make(
      "div",
      { class: "facts" },
      fact(String(count(parts) - count(host)), "nodes compiled"),
      fact(String(count(host)), "nodes on the host"),
      fact(String(parts.length), "parts"),
    ),
    table(
      [["part"], ["where"], ["nodes"], ["takes"], ["gives"], ["why on the host"]],
      parts.map((part, number) => [
        [String(number), "number"],
        [
          make(
            "span",
            { class: "key" },
            make("span", {
              class: "swatch",
              style: `background:var(--${part.native ? "native" : "host"})`,
            }),
            part.native ? "compiled" : "host",
          ),
        ],
        [
          make(
            "span",
            { class: "mono" },
            part.nodes.slice(0, 30).join(", ") +
              (part.nodes.length > 30 ? ` … ${part.nodes.length - 30} more` : ""),
          ),
          "wide",
        ],
        [make("span", { class: "mono" }, part.inputs.join(", ")), "wide"],
        [make("span", { class: "mono" }, part.outputs.join(", ")), "wide"],
        [
          make(
            "span",
            {},
            ...Object.entries(part.reasons).flatMap(([node, why]) => [
              make("code", {}, node),
              `: ${why} `,
            ]),
          ),
          "wide",
        ],
      ]),
    ),
  );
}
