// Which program, stage, graph and node is shown.

function chooseProgram(number) {
  Object.assign(state, { program: number, stage: 0, graph: 0, selected: -1, hovered: -1 });
  $("program").value = String(number);
  listStages();
  chooseStage(program().stages.length - 1, false);
  showAll();
}

function listStages() {
  $("stages").replaceChildren(
    ...program().stages.map((each, number) =>
      make(
        "li",
        {},
        make(
          "button",
          { onclick: () => chooseStage(number), title: number ? `After ${each.name}` : "" },
          each.name,
          make(
            "small",
            {},
            String(
              each.graphs[0].nodes.filter((node) => GROUP_OF[node.family] !== "border").length,
            ),
          ),
        ),
      ),
    ),
  );
}

// The node in the middle, or the chosen one, stays where it is.
function chooseStage(number, keep = true) {
  if (number < 0 || number >= program().stages.length) return;
  const anchor = keep && state.graph === 0 ? pickAnchor() : null;
  Object.assign(state, { stage: number, graph: 0, hovered: -1 });
  $("tip").hidden = true;
  [...$("stages").querySelectorAll("button")].forEach((button, index) => {
    button.setAttribute("aria-current", String(index === number));
    if (index === number) button.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  $("back").disabled = number === 0;
  $("forward").disabled = isLast();
  refresh();
  if (anchor) followAnchor(anchor);
  else if (keep) showAll();
}

function pickAnchor() {
  const nodes = graph().nodes;
  let best = state.selected;
  if (best < 0) {
    const x = view.x + view.width / 2 / view.scale,
      y = view.y + view.height / 2 / view.scale;
    let least = Infinity;
    nodes.forEach((node, number) => {
      const distance = Math.hypot(node.x + node.w / 2 - x, node.y + node.h / 2 - y);
      if (node.origin && distance < least) {
        least = distance;
        best = number;
      }
    });
  }
  if (best < 0) return null;
  const node = nodes[best];
  return {
    names: node.origin || [],
    x: (node.x + node.w / 2 - view.x) * view.scale,
    y: (node.y + node.h / 2 - view.y) * view.scale,
    chosen: state.selected >= 0,
  };
}

function followAnchor(anchor) {
  const number = nodeNamed(anchor.names);
  state.selected = anchor.chosen ? number : -1;
  if (number >= 0) {
    const node = graph().nodes[number];
    view.x = node.x + node.w / 2 - anchor.x / view.scale;
    view.y = node.y + node.h / 2 - anchor.y / view.scale;
  }
  showDetails();
  redraw();
}

// The node that has most of these names.
function nodeNamed(names) {
  let best = -1,
    most = 0;
  graph().nodes.forEach((node, number) => {
    const common = (node.origin || []).filter((name) => names.includes(name)).length;
    if (common > most) {
      most = common;
      best = number;
    }
  });
  return best;
}

function goToName(name) {
  showTab("graph");
  const names = name.split("+");
  for (const number of [state.stage, ...program().stages.keys()]) {
    if (number !== state.stage) {
      state.selected = -1;
      chooseStage(number);
    }
    const found = nodeNamed(names);
    if (found >= 0) {
      select(found, true);
      return;
    }
  }
}

function openGraph(number) {
  Object.assign(state, { graph: number, selected: -1, hovered: -1 });
  refresh();
  showAll();
}

function refresh() {
  const crumbs = $("crumbs");
  crumbs.hidden = state.graph === 0;
  crumbs.replaceChildren(
    make("a", { onclick: () => openGraph(0), tabindex: 0 }, "main"),
    ` › ${graph().title}`,
  );
  if (state.selected >= graph().nodes.length) state.selected = -1;
  minimap = null;
  searchNodes($("search").value, false);
  showLegend();
  showDetails();
  redraw();
}

function select(number, move = false) {
  state.selected = number;
  showDetails();
  if (move && number >= 0) centre(number);
  redraw();
}

function chooseColors(name) {
  state.colors = name;
  for (const button of $("colors").querySelectorAll("button"))
    button.setAttribute("aria-checked", String(button.dataset.colors === name));
  showLegend();
  redraw();
}
