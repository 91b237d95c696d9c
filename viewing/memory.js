// Memory over time: which tensor is alive when, and where it could lie.

function showMemory() {
  const panel = $("memory"),
    memory = stage().memory;
  panel.replaceChildren(make("h2", {}, `Memory, ${program().name}: ${stage().name}`));
  if (!memory) {
    panel.append(
      make("p", { class: "note" }, "The parts of the model have a program each; choose one above."),
    );
    return;
  }
  const measured = model.profile && model.profile.peak_bytes;
  panel.append(
    make(
      "div",
      { class: "facts" },
      fact(bytesText(memory.peak), "alive at once"),
      fact(bytesText(memory.allocated), "allocated, predicted"),
      measured && isLast() ? fact(bytesText(measured), "allocated, measured") : null,
      fact(bytesText(memory.inputs), "inputs"),
      fact(bytesText(memory.constants), "weights"),
    ),
  );
  const assumed = Object.entries(memory.assumed).map(([name, size]) => `${name} = ${size}`);
  if (assumed.length)
    panel.append(
      make(
        "p",
        { class: "note" },
        `Computed for ${assumed.join(", ")}: sizes that nobody gave count as 1.`,
      ),
    );
  panel.append(
    make(
      "div",
      { id: "lifetimes" },
      make("canvas", { id: "lifetimes-canvas" }),
      make("div", {
        id: "buffer-tip",
        class: "fact",
        hidden: "",
        style: "position:absolute;pointer-events:none;max-width:420px",
      }),
    ),
    make(
      "p",
      { class: "key", style: "gap:16px;display:flex;flex-wrap:wrap" },
      ...[
        ["matmuls", "intermediate tensor"],
        ["fusion", "output"],
        ["attention", "scratch: of a kernel, scores, inside of control flow"],
        ["gone", "the most at once"],
      ].map(([color, text]) =>
        make(
          "span",
          { class: "key" },
          make("span", { class: "swatch", style: `background:var(--${color})` }),
          text,
        ),
      ),
    ),
    make(
      "p",
      { class: "note" },
      "A bar is a tensor from the step that computes it to the last that uses it, as high as it is large, at the address in the smallest gap that takes it. The line is what is alive at each step. What is allocated is that, as the backend packs it, with dispatches that run side by side, and without what one op hands to the next within a dispatch. Inputs and weights are not part of it. Choose a bar to see its node.",
    ),
    make("h2", {}, "Peak by stage"),
    peaksByStage(),
  );
  drawLifetimes();
}

function peaksByStage() {
  const stages = program().stages.filter((each) => each.memory),
    most = Math.max(...stages.map((each) => each.memory.peak), 1);
  return table(
    [["stage"], ["peak", "number"], [""]],
    stages.map((each) => [
      [
        make(
          "a",
          {
            tabindex: 0,
            onclick: () => {
              chooseStage(program().stages.indexOf(each));
              showMemory();
            },
          },
          each.name,
        ),
      ],
      [bytesText(each.memory.peak), "number"],
      [bar(each.memory.peak / most, each === stage() ? "accent" : "edge")],
    ]),
  );
}

function drawLifetimes() {
  const canvas = $("lifetimes-canvas"),
    memory = stage().memory,
    tip = $("buffer-tip");
  const box = canvas.getBoundingClientRect(),
    ratio = devicePixelRatio || 1,
    left = 74,
    bottom = 30,
    top = 14;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const pen = canvas.getContext("2d"),
    steps = Math.max(memory.live.length, 1);
  const tallest = Math.max(memory.arena, memory.peak, 1) * 1.04;
  const px = (step) => left + (step / steps) * (box.width - left - 14);
  const py = (bytes) => box.height - bottom - (bytes / tallest) * (box.height - bottom - top);
  const shape = ([, bytes, begin, end, , offset]) => [
    px(Math.max(begin, 0)),
    py(offset + bytes),
    px(Math.min(end + 1, steps)),
    py(offset),
  ];
  pen.scale(ratio, ratio);
  axes(pen, tallest, steps, px, py, box);
  const fills = {
    intermediate: colors.matmuls,
    scratch: colors.attention,
    output: colors.fusion,
  };
  for (const buffer of memory.buffers) {
    if (buffer[4] === "input" || !buffer[1]) continue;
    const [x0, y0, x1, y1] = shape(buffer);
    pen.fillStyle = fills[buffer[4]];
    pen.globalAlpha = 0.55;
    pen.fillRect(x0, y0, Math.max(x1 - x0 - 0.5, 1), Math.max(y1 - y0 - 0.5, 0.75));
  }
  pen.globalAlpha = 1;
  drawLive(pen, memory, px, py);
  const at = (event) => {
    const x = event.offsetX,
      y = event.offsetY;
    return memory.buffers.findIndex((each) => {
      const [x0, y0, x1, y1] = shape(each);
      return each[4] !== "input" && x >= x0 && x <= x1 && y >= y0 - 1 && y <= y1 + 1;
    });
  };
  canvas.onmousemove = (event) => {
    const found = at(event),
      buffer = memory.buffers[found];
    tip.hidden = found < 0;
    canvas.style.cursor = found < 0 ? "default" : "pointer";
    if (found < 0) return;
    tip.replaceChildren(
      make("div", { class: "mono" }, firstName(buffer[0])),
      `${bytesText(buffer[1])}, ${buffer[4]}, steps ${Math.max(buffer[2], 0)} to ${Math.min(buffer[3], steps - 1)}`,
    );
    tip.style.left = `${Math.min(event.offsetX + 14, box.width - 300)}px`;
    tip.style.top = `${Math.min(event.offsetY + 12, box.height - 70)}px`;
  };
  canvas.onmouseleave = () => {
    tip.hidden = true;
  };
  canvas.onclick = (event) => {
    const buffer = memory.buffers[at(event)];
    if (!buffer) return;
    const step = buffer[2] >= 0 ? buffer[2] : memory.steps.length - 1;
    showTab("graph");
    openGraph(0);
    select(memory.steps[step], true);
  };
}

function axes(pen, tallest, steps, px, py, box) {
  pen.font = `11px ${FONT}`;
  pen.strokeStyle = colors.line;
  pen.fillStyle = colors.muted;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const unit = 1024 ** Math.max(Math.floor(Math.log(tallest) / Math.log(1024)), 0),
    rough = tallest / 5 / unit;
  const digits = 10 ** Math.floor(Math.log10(rough));
  const each = [1, 2, 2.5, 5, 10].map((n) => n * digits).find((n) => n >= rough) * unit;
  for (let bytes = 0; bytes <= tallest; bytes += each) {
    pen.beginPath();
    pen.moveTo(px(0), py(bytes));
    pen.lineTo(box.width - 14, py(bytes));
    pen.stroke();
    pen.fillText(bytesText(bytes), px(0) - 8, py(bytes));
  }
  pen.textAlign = "center";
  const ticks = Math.min(steps, 10);
  for (let i = 0; i < ticks; i += 1) {
    const step = Math.floor((i * steps) / ticks);
    pen.fillText(i ? String(step) : "step 0", px(step + 0.5), box.height - 14);
  }
}

function drawLive(pen, memory, px, py) {
  pen.beginPath();
  memory.live.forEach((bytes, step) => {
    pen.lineTo(px(step), py(bytes));
    pen.lineTo(px(step + 1), py(bytes));
  });
  pen.strokeStyle = colors.text;
  pen.lineWidth = 1.5;
  pen.stroke();
  const peak = memory.live.indexOf(memory.peak);
  if (peak < 0) return;
  pen.fillStyle = colors.gone;
  pen.globalAlpha = 0.22;
  pen.fillRect(
    px(peak),
    py(memory.peak),
    Math.max(px(peak + 1) - px(peak), 2),
    py(0) - py(memory.peak),
  );
  pen.globalAlpha = 1;
  pen.beginPath();
  pen.arc((px(peak) + px(peak + 1)) / 2, py(memory.peak), 4, 0, 7);
  pen.fill();
}
