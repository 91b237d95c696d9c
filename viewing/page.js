// What the keyboard, the mouse and the buttons do.

const TABS = { graph: "Graph", memory: "Memory", rewrites: "Rewrites", passes: "Passes", placement: "Placement" };
const COLORS = { kind: "kind", fusions: "fusions", changes: "changes", time: "time", memory: "memory" };
const STEP = 90, CLICK = 4;

function showTab(name) {
  for (const tab of Object.keys(TABS)) $(tab).hidden = tab !== name;
  for (const button of $("tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === name));
  if (name === "memory") showMemory();
  if (name === "graph") resizePicture();
}

function chooseProgram(number) {
  Object.assign(state, { program: number, stage: 0, graph: 0, selected: -1, hovered: -1 });
  $("program").value = String(number);
  listStages();
  chooseStage(program().stages.length - 1, false);
  showAll();
}

function listStages() {
  $("stages").replaceChildren(...program().stages.map((each, number) => make("li", {},
    make("button", { onclick: () => chooseStage(number), title: number ? `After ${each.name}` : "" }, each.name,
      make("small", {}, String(each.graphs[0].nodes.filter((node) => GROUP_OF[node.family] !== "border").length))))));
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
    const x = view.x + view.width / 2 / view.scale, y = view.y + view.height / 2 / view.scale;
    let least = Infinity;
    nodes.forEach((node, number) => {
      const distance = Math.hypot(node.x + node.w / 2 - x, node.y + node.h / 2 - y);
      if (node.origin && distance < least) { least = distance; best = number; }
    });
  }
  if (best < 0) return null;
  const node = nodes[best];
  return { names: node.origin || [], x: (node.x + node.w / 2 - view.x) * view.scale, y: (node.y + node.h / 2 - view.y) * view.scale, chosen: state.selected >= 0 };
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
  let best = -1, most = 0;
  graph().nodes.forEach((node, number) => {
    const common = (node.origin || []).filter((name) => names.includes(name)).length;
    if (common > most) { most = common; best = number; }
  });
  return best;
}

function goToName(name) {
  showTab("graph");
  const names = name.split("+");
  for (const number of [state.stage, ...program().stages.keys()]) {
    if (number !== state.stage) { state.selected = -1; chooseStage(number); }
    const found = nodeNamed(names);
    if (found >= 0) { select(found, true); return; }
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
  crumbs.replaceChildren(make("a", { onclick: () => openGraph(0), tabindex: 0 }, "main"), ` › ${graph().title}`);
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
  for (const button of $("colors").querySelectorAll("button")) button.setAttribute("aria-checked", String(button.dataset.colors === name));
  showLegend();
  redraw();
}

// Nodes whose op, names or types hold all words of the query.
function searchNodes(query, move = true) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean), list = $("results");
  state.hits = [];
  if (words.length) {
    graph().nodes.forEach((node, number) => {
      node.text ??= [node.op, ...(node.inner || []).map(([op]) => op), ...(node.origin || []), ...(node.outs || [])].join(" ").toLowerCase();
      if (words.every((word) => node.text.includes(word))) state.hits.push([node, number]);
    });
  }
  state.hit = state.hits.length ? 0 : -1;
  $("hits").textContent = words.length ? (state.hits.length ? `1 / ${state.hits.length}` : "none") : "";
  list.hidden = !state.hits.length || document.activeElement !== $("search");
  list.replaceChildren(...state.hits.slice(0, 200).map(([node], index) => make("li", { onmousedown: (event) => { event.preventDefault(); goToHit(index); list.hidden = true; } },
    make("b", {}, titleOf(node)), make("span", { class: "muted" }, node.label || ""))));
  if (move && state.hits.length) goToHit(0);
  redraw();
}

function goToHit(index) {
  if (!state.hits.length) return;
  state.hit = (index + state.hits.length) % state.hits.length;
  $("hits").textContent = `${state.hit + 1} / ${state.hits.length}`;
  if ($("graph").hidden) showTab("graph");
  [...$("results").children].forEach((item, number) => {
    item.classList.toggle("current", number === state.hit);
    if (number === state.hit) item.scrollIntoView({ block: "nearest" });
  });
  select(state.hits[state.hit][1], true);
}

function find(text) {
  $("search").value = text;
  searchNodes(text);
}

function searchKey(event) {
  const steps = { Enter: event.shiftKey ? -1 : 1, ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) {
    event.preventDefault();
    goToHit(state.hit + steps[event.key]);
  } else if (event.key === "Escape") {
    find("");
    $("canvas").focus();
  }
}

// Along an edge of the chosen node, or a part of the window.
function arrow(dx, dy) {
  const found = neighbours(), chosen = state.selected;
  if (chosen < 0) {
    view.x += (dx * STEP) / view.scale;
    view.y += (dy * STEP) / view.scale;
    redraw();
    return;
  }
  const middle = (number) => found.nodes[number].x + found.nodes[number].w / 2;
  let next = null;
  if (dy) next = found[dy > 0 ? "below" : "above"][chosen].map(([number]) => number);
  else {
    const beside = [...found.above[chosen].flatMap(([up]) => found.below[up]), ...found.below[chosen].flatMap(([down]) => found.above[down])];
    next = beside.map(([number]) => number).filter((number) => dx * (middle(number) - middle(chosen)) > 0);
  }
  next.sort((a, b) => Math.abs(middle(a) - middle(chosen)) - Math.abs(middle(b) - middle(chosen)));
  if (next.length) select(next[0], true);
}

function pageKey(event) {
  if (event.target === $("search") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    $("search").focus();
    $("search").select();
    return;
  }
  if ($("graph").hidden) return;
  const names = Object.keys(COLORS).filter((name) => !document.querySelector(`[data-colors=${name}]`).disabled);
  const actions = {
    "[": () => chooseStage(state.stage - 1), "]": () => chooseStage(state.stage + 1),
    "+": () => zoomAt(1.3, view.width / 2, view.height / 2), "=": () => zoomAt(1.3, view.width / 2, view.height / 2),
    "-": () => zoomAt(1 / 1.3, view.width / 2, view.height / 2), f: () => showAll(true),
    n: () => goToHit(state.hit + 1), N: () => goToHit(state.hit - 1),
    c: () => chooseColors(names[(names.indexOf(state.colors) + 1) % names.length]), Escape: () => select(-1),
    ArrowUp: () => arrow(0, -1), ArrowDown: () => arrow(0, 1), ArrowLeft: () => arrow(-1, 0), ArrowRight: () => arrow(1, 0),
  };
  if (event.key in actions) {
    if (event.key.startsWith("Arrow")) event.preventDefault();
    actions[event.key]();
  }
}

function listenToPointer(canvas) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, moved: false, map: inMinimap(event.offsetX) };
    canvas.setPointerCapture(event.pointerId);
    if (drag.map) goInMinimap(event.offsetX, event.offsetY);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) { hover(event.offsetX, event.offsetY); return; }
    if (drag.map) { goInMinimap(event.offsetX, event.offsetY); return; }
    if (!drag.moved && Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) < CLICK) return;
    view.x -= (event.offsetX - drag.x) / view.scale;
    view.y -= (event.offsetY - drag.y) / view.scale;
    Object.assign(drag, { x: event.offsetX, y: event.offsetY, moved: true });
    canvas.classList.add("moving");
    $("tip").hidden = true;
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved && !drag.map) select(nodeAt(event.offsetX, event.offsetY));
    drag = null;
    canvas.classList.remove("moving");
  });
  canvas.addEventListener("pointerleave", () => { if (!drag) hover(-1, -1); });
  canvas.addEventListener("dblclick", (event) => {
    const node = graph().nodes[nodeAt(event.offsetX, event.offsetY)];
    if (node && node.bodies) openGraph(node.bodies[0]);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey || !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY)) {
      zoomAt(Math.exp(-event.deltaY * unit * 0.0016), event.offsetX, event.offsetY);
    } else {
      view.x += ((event.deltaX || event.deltaY) * unit) / view.scale;
      redraw();
    }
  }, { passive: false });
}

function hover(px, py) {
  const number = px < 0 || inMinimap(px) ? -1 : nodeAt(px, py);
  $("canvas").classList.toggle("over", number >= 0);
  if (number !== state.hovered) { state.hovered = number; redraw(); }
  showTip(number, px, py);
}

function listen() {
  $("search").addEventListener("input", () => searchNodes($("search").value));
  $("search").addEventListener("keydown", searchKey);
  $("search").addEventListener("focus", () => { $("results").hidden = !state.hits.length; });
  $("search").addEventListener("blur", () => { $("results").hidden = true; });
  $("back").addEventListener("click", () => chooseStage(state.stage - 1));
  $("forward").addEventListener("click", () => chooseStage(state.stage + 1));
  $("zoom").addEventListener("click", (event) => {
    const how = event.target.dataset.zoom;
    if (how === "fit") showAll(true);
    else if (how) zoomAt(how === "in" ? 1.4 : 1 / 1.4, view.width / 2, view.height / 2);
  });
  document.addEventListener("keydown", pageKey);
  document.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.tagName === "A") event.target.click(); });
  listenToPointer($("canvas"));
  new ResizeObserver(() => resizePicture()).observe($("view"));
  addEventListener("resize", () => { if (!$("memory").hidden) showMemory(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColors();
    minimap = null;
    redraw();
    if (!$("memory").hidden) showMemory();
  });
}

async function main() {
  model = await unpack($("data").textContent);
  readColors();
  $("tabs").append(...Object.entries(TABS).map(([tab, text]) => make("button", { role: "tab", "data-tab": tab, onclick: () => showTab(tab) }, text)));
  $("colors").append(make("span", {}, "Colour:"), ...Object.entries(COLORS).map(([name, text]) =>
    make("button", { role: "radio", "data-colors": name, onclick: () => chooseColors(name), disabled: name === "time" && !model.profile, title: name === "time" && !model.profile ? "The page was made without --profile" : "" }, text)));
  if (model.programs.length > 1) {
    $("program").hidden = false;
    $("program").append(...model.programs.map((each, number) => make("option", { value: number }, each.name)));
    $("program").addEventListener("change", (event) => chooseProgram(Number(event.target.value)));
  }
  listen();
  showTab("graph");
  chooseProgram(0);
  chooseColors("kind");
  showRewrites();
  showPasses();
  showPlacement();
  document.body.dataset.ready = "yes";
}

main();
