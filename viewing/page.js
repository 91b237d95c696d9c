// What the keyboard, the mouse and the buttons do.

const TABS = {
  graph: "Graph",
  accuracy: "Accuracy",
  memory: "Memory",
  rewrites: "Rewrites",
  passes: "Passes",
  placement: "Placement",
};

const COLORS = {
  kind: "kind",
  fusions: "fusions",
  changes: "changes",
  time: "time",
  memory: "memory",
  accuracy: "accuracy",
  device: "device",
};

// What the page must have been made with, for colours that not every page has.
const NEEDED = {
  time: ["profile", "--profile"],
  accuracy: ["accuracy", "gc-quantize"],
  device: ["placement", "--placement"],
};

const STEP = 90,
  CLICK = 4;

function showTab(name) {
  for (const tab of Object.keys(TABS)) $(tab).hidden = tab !== name;
  for (const button of $("tabs").children)
    button.setAttribute("aria-selected", String(button.dataset.tab === name));
  if (name === "memory") showMemory();
  if (name === "graph") resizePicture();
}

// Along an edge of the chosen node, or a part of the window.
function arrow(dx, dy) {
  const found = neighbours(),
    chosen = state.selected;
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
    const beside = [
      ...found.above[chosen].flatMap(([up]) => found.below[up]),
      ...found.below[chosen].flatMap(([down]) => found.above[down]),
    ];
    next = beside
      .map(([number]) => number)
      .filter((number) => dx * (middle(number) - middle(chosen)) > 0);
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
  const names = Object.keys(COLORS).filter(
    (name) => !document.querySelector(`[data-colors=${name}]`).disabled,
  );
  const actions = {
    "[": () => chooseStage(state.stage - 1),
    "]": () => chooseStage(state.stage + 1),
    "+": () => zoomAt(1.3, view.width / 2, view.height / 2),
    "=": () => zoomAt(1.3, view.width / 2, view.height / 2),
    "-": () => zoomAt(1 / 1.3, view.width / 2, view.height / 2),
    f: () => showAll(true),
    n: () => goToHit(state.hit + 1),
    N: () => goToHit(state.hit - 1),
    c: () => chooseColors(names[(names.indexOf(state.colors) + 1) % names.length]),
    Escape: () => select(-1),
    ArrowUp: () => arrow(0, -1),
    ArrowDown: () => arrow(0, 1),
    ArrowLeft: () => arrow(-1, 0),
    ArrowRight: () => arrow(1, 0),
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
    if (!drag) {
      hover(event.offsetX, event.offsetY);
      return;
    }
    if (drag.map) {
      goInMinimap(event.offsetX, event.offsetY);
      return;
    }
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
  canvas.addEventListener("pointerleave", () => {
    if (!drag) hover(-1, -1);
  });
  canvas.addEventListener("dblclick", (event) => {
    const node = graph().nodes[nodeAt(event.offsetX, event.offsetY)];
    if (node && node.bodies) openGraph(node.bodies[0]);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (
        event.ctrlKey ||
        event.metaKey ||
        (!event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY))
      ) {
        zoomAt(Math.exp(-event.deltaY * unit * 0.0016), event.offsetX, event.offsetY);
      } else {
        view.x += ((event.deltaX || event.deltaY) * unit) / view.scale;
        redraw();
      }
    },
    { passive: false },
  );
}

function hover(px, py) {
  const number = px < 0 || inMinimap(px) ? -1 : nodeAt(px, py);
  $("canvas").classList.toggle("over", number >= 0);
  if (number !== state.hovered) {
    state.hovered = number;
    redraw();
  }
  showTip(number, px, py);
}

function listen() {
  $("search").addEventListener("input", () => searchNodes($("search").value));
  $("search").addEventListener("keydown", searchKey);
  $("search").addEventListener("focus", () => {
    $("results").hidden = !state.hits.length;
  });
  $("search").addEventListener("blur", () => {
    $("results").hidden = true;
  });
  $("back").addEventListener("click", () => chooseStage(state.stage - 1));
  $("forward").addEventListener("click", () => chooseStage(state.stage + 1));
  $("zoom").addEventListener("click", (event) => {
    const how = event.target.dataset.zoom;
    if (how === "fit") showAll(true);
    else if (how) zoomAt(how === "in" ? 1.4 : 1 / 1.4, view.width / 2, view.height / 2);
  });
  document.addEventListener("keydown", pageKey);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "A") event.target.click();
  });
  listenToPointer($("canvas"));
  new ResizeObserver(() => resizePicture()).observe($("view"));
  addEventListener("resize", () => {
    if (!$("memory").hidden) showMemory();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColors();
    minimap = null;
    redraw();
    if (!$("memory").hidden) showMemory();
  });
}

const lacks = (name) => name in NEEDED && !model[NEEDED[name][0]];

async function main() {
  model = await unpack($("data").textContent);
  nameDevices();
  readColors();
  $("tabs").append(
    ...Object.entries(TABS)
      .filter(([tab]) => tab !== "accuracy" || model.accuracy)
      .map(([tab, text]) =>
        make("button", { role: "tab", "data-tab": tab, onclick: () => showTab(tab) }, text),
      ),
  );
  $("colors").append(
    make("span", {}, "Colour:"),
    ...Object.entries(COLORS).map(([name, text]) =>
      make(
        "button",
        {
          role: "radio",
          "data-colors": name,
          onclick: () => chooseColors(name),
          disabled: lacks(name),
          title: lacks(name) ? `The page was made without ${NEEDED[name][1]}` : "",
        },
        text,
      ),
    ),
  );
  if (model.programs.length > 1) {
    $("program").hidden = false;
    $("program").append(
      ...model.programs.map((each, number) => make("option", { value: number }, each.name)),
    );
    $("program").addEventListener("change", (event) => chooseProgram(Number(event.target.value)));
  }
  listen();
  showTab("graph");
  chooseProgram(0);
  chooseColors(model.placement ? "device" : "kind");
  showRewrites();
  showPasses();
  showPlacement();
  showAccuracy();
  document.body.dataset.ready = "yes";
}

main();
