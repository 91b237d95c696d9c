// Nodes found by what is written in the field of search.

// Nodes whose op, names or types hold all words of the query.
function searchNodes(query, move = true) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean),
    list = $("results");
  state.hits = [];
  if (words.length) {
    graph().nodes.forEach((node, number) => {
      node.text ??= [
        node.op,
        ...(node.inner || []).map(([op]) => op),
        ...(node.origin || []),
        ...(node.outs || []),
      ]
        .join(" ")
        .toLowerCase();
      if (words.every((word) => node.text.includes(word))) state.hits.push([node, number]);
    });
  }
  state.hit = state.hits.length ? 0 : -1;
  $("hits").textContent = words.length
    ? state.hits.length
      ? `1 / ${state.hits.length}`
      : "none"
    : "";
  list.hidden = !state.hits.length || document.activeElement !== $("search");
  list.replaceChildren(
    ...state.hits.slice(0, 200).map(([node], index) =>
      make(
        "li",
        {
          onmousedown: (event) => {
            event.preventDefault();
            goToHit(index);
            list.hidden = true;
          },
        },
        make("b", {}, titleOf(node)),
        make("span", { class: "muted" }, node.label || ""),
      ),
    ),
  );
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
