"use strict";
// The page draws; every number it shows comes from the library, by POST /explore.
const NAMES = ["", "safe", "borderline", "rare", "outlier"];
const SAMPLERS = ["MLSOL", "MLSMOTE", "MLROS"];
const $ = id => document.getElementById(id);
const state = { scene: "", points: [], labels: [], names: [], marks: {}, theta: [], editable: true, total: 0,
  k: 5, ratio: 0.3, seed: 0, scale: null, sampler: "MLSOL", view: "labels", label: 0, chosen: null, found: null };
// On a phone the plane is upright, so that points stay large enough for a finger.
const narrow = matchMedia("(max-width: 40rem)");
let WIDTH = 1000, HEIGHT = 760;
let frame = { x: 0, y: 0, size: 1 }, past = [], busy = false, waiting = false;

// --- drawing ---------------------------------------------------------------------------------
function element(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function html(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
// What is far outside stands at the edge, whole: with its ring and the circle of what is chosen.
function inside([x, y]) {
  const margin = 1.3 * radius() + 12;
  return [Math.max(margin, Math.min(WIDTH - margin, x)), Math.max(margin, Math.min(HEIGHT - margin, y))];
}
function place([x, y]) {
  return inside([WIDTH / 2 + (x - frame.x) * frame.size, HEIGHT / 2 - (y - frame.y) * frame.size]);
}
function unplace(x, y) {
  return [frame.x + (x - WIDTH / 2) / frame.size, frame.y - (y - HEIGHT / 2) / frame.size];
}
function setFrame() {
  [WIDTH, HEIGHT] = narrow.matches ? [640, 720] : [1000, 760];
  $("plane").setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  const xs = state.points.map(p => p[0]), ys = state.points.map(p => p[1]);
  // Points far from all others would make the rest tiny; quantiles leave them at the edge.
  const span = values => {
    const sorted = [...values].sort((a, b) => a - b), last = sorted.length - 1;
    return [sorted[Math.round(last * 0.01)], sorted[Math.round(last * 0.99)]];
  };
  const [left, right] = xs.length ? span(xs) : [-1, 1], [low, high] = ys.length ? span(ys) : [-1, 1];
  frame = { x: (left + right) / 2, y: (low + high) / 2,
    size: 0.88 * Math.min(WIDTH / Math.max(right - left, 1e-9), HEIGHT / Math.max(high - low, 1e-9)) };
}
// Shape, border and color say which labels a point has, as in the paper's Figure 1.
function look(labels) {
  const q = state.names.length, has = j => labels.includes(j);
  if (q > 3) return { triangle: has(state.label), border: true, red: has(state.label) };
  if (q === 3) return { triangle: has(0), border: !has(1), red: has(2) };
  return { triangle: q === 2 && has(0), border: true, red: has(q - 1) };
}
function shape(x, y, r, triangle) {
  if (!triangle) return element("circle", { cx: x, cy: y, r });
  const h = r * 1.25, w = h * 0.95;
  return element("path", { d: `M${x} ${y - h}L${x + w} ${y + h * 0.72}H${x - w}Z` });
}
function glyph(labels, x, y, r, fill) {
  const { triangle, border, red } = look(labels), made = shape(x, y, r, triangle);
  made.setAttribute("class", `${fill || (red ? "f-red" : "f-green")}${border && !fill ? " edge" : ""}`);
  return made;
}
function cellOf(row, label) {
  return state.cells && state.cells.get(row * state.names.length + label);
}
function drawRow(row, r) {
  const [x, y] = place(state.points[row]), cell = cellOf(row, state.label);
  if (state.view === "types") return glyph(state.labels[row], x, y, r, `f-${cell ? cell[2] : 0}`);
  if (state.view === "C") {
    const made = glyph(state.labels[row], x, y, cell ? r : r * 0.55, cell ? "f-red" : "f-faint");
    if (cell) made.setAttribute("fill-opacity", 0.15 + 0.85 * cell[3]);
    return made;
  }
  if (state.view === "weights") {
    const share = state.heaviest ? state.found.weights[row] / state.heaviest : 0;
    return glyph(state.labels[row], x, y, share ? 4 + r * 1.3 * Math.sqrt(share) : 4, share ? "f-accent" : "f-faint");
  }
  return glyph(state.labels[row], x, y, r);
}
// Clones lie on their seeds: a spiral around each shows how many there are.
function childPlaces(made) {
  const seen = new Map();
  return made.points.map((point, i) => {
    const [x, y] = place(point);
    if (made.references[i] >= 0) return [x, y];
    const turn = (seen.get(made.seeds[i]) || 0) + 1;
    seen.set(made.seeds[i], turn);
    return inside([x + 9 * Math.sqrt(turn) * Math.cos(2.4 * turn), y + 9 * Math.sqrt(turn) * Math.sin(2.4 * turn)]);
  });
}
function radius() { return Math.max(7, Math.min(15, 170 / Math.sqrt(state.points.length + 30))); }

function draw() {
  const plane = $("plane"), r = radius(), parts = [], made = currentRows();
  const places = made ? childPlaces(made) : [];
  const [kind, at] = state.chosen || [];
  plane.classList.toggle("still", !state.editable);
  if (kind === "row" && state.found && state.found.neighbors && state.found.neighbors[at]) {
    const [x, y] = place(state.points[at]);
    for (const other of state.found.neighbors[at]) {
      const [x2, y2] = place(state.points[other]);
      parts.push(element("line", { x1: x, y1: y, x2, y2, class: "near" }));
      parts.push(element("circle", { cx: x2, cy: y2, r: r + 6, class: "neighbor" }));
    }
    if (made) made.seeds.forEach((seed, i) => {
      if (seed === at) parts.push(element("line", { x1: x, y1: y, x2: places[i][0], y2: places[i][1], class: "child" }));
    });
  }
  if (kind === "new" && made && places[at]) {
    for (const parent of [made.seeds[at], made.references[at]]) if (parent >= 0) {
      const [x, y] = place(state.points[parent]);
      parts.push(element("line", { x1: x, y1: y, x2: places[at][0], y2: places[at][1], class: "child" }));
    }
  }
  state.points.forEach((_, row) => {
    const group = element("g", { class: "row", "data-row": row }, drawRow(row, r));
    parts.push(group);
    if (state.marks[row]) {
      const [x, y] = place(state.points[row]);
      parts.push(element("text", { x: x + r, y: y - r, class: "mark" }, state.marks[row]));
    }
  });
  if (made) made.points.forEach((_, i) => {
    const [x, y] = places[i];
    parts.push(element("g", { class: "made", "data-new": i }, glyph(made.labels[i], x, y, r * 0.62, state.view === "labels" ? "" : "f-faint"),
      element("circle", { cx: x, cy: y, r: r * 0.62 + 5, class: "ring" })));
  });
  const target = kind === "row" ? state.points[at] && place(state.points[at]) : kind === "new" ? places[at] : null;
  if (target) parts.push(element("circle", { cx: target[0], cy: target[1], r: r + 9, class: "chosen" }));
  plane.replaceChildren(...parts);
}
function currentRows() {
  return state.found && state.sampler ? state.found.samplers[state.sampler] : null;
}
function drawPanels() {
  const r = radius();
  $("panels").replaceChildren(...SAMPLERS.map(name => {
    const made = state.found && state.found.samplers[name], svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    svg.setAttribute("aria-label", `${name}: ${made ? made.points.length : 0} synthetic rows`);
    state.points.forEach((point, row) => {
      const [x, y] = place(point), dot = glyph(state.labels[row], x, y, r * 1.1);
      dot.classList.add("fade");
      svg.append(dot);
    });
    if (made) childPlaces(made).forEach(([x, y], i) => svg.append(glyph(made.labels[i], x, y, r * 1.25)));
    const figure = html("figure", { class: state.sampler === name ? "shown" : "" },
      html("figcaption", {}, html("b", {}, name), html("span", {}, made ? `+${made.points.length} rows` : "…")), svg);
    figure.append(html("p", {}, made && made.message ? made.message : countLine(made)));
    return figure;
  }));
}
function countLine(made) {
  if (!made) return "";
  const count = (rows, j) => rows.reduce((sum, labels) => sum + labels.includes(j), 0);
  const shown = state.names.length > 3 ? [state.label] : state.names.map((_, j) => j);
  return shown.map(j => `${state.names[j]} ${count(state.labels, j)} → ${count(state.labels, j) + count(made.labels, j)}`).join(", ");
}
function icon(...parts) { return element("svg", { viewBox: "0 0 40 40", class: "icon" }, ...parts); }
function plain(triangle, fill, edge) {
  const made = shape(20, 21, 13, triangle);
  made.setAttribute("class", fill + (edge ? " edge" : ""));
  return made;
}
// What of a point says that it has a label: a triangle, no border, or red; for a legend and buttons.
function sign(j) {
  const q = state.names.length;
  if (j === q - 1) return plain(false, "f-red", true);
  return j === 0 ? plain(true, "f-faint", true) : plain(false, "f-faint");
}
function drawLegend() {
  const entry = (text, ...parts) => html("li", {}, icon(...parts), text);
  const items = [], q = state.names.length;
  if (state.view === "types") {
    NAMES.forEach((name, type) => items.push(entry(type ? name : "majority", plain(false, `f-${type}`))));
  } else if (state.view === "C") {
    items.push(entry("the more opposite neighbors, the deeper", plain(false, "f-red")), entry("majority", plain(false, "f-faint")));
  } else if (state.view === "weights") {
    items.push(entry("the larger, the likelier a seed", plain(false, "f-accent")));
  } else if (q > 3) {
    items.push(entry(state.names[state.label], plain(true, "f-red", true)), entry("without it", plain(false, "f-green", true)));
  } else {
    items.push(...state.names.map((name, j) => entry(name, sign(j))), entry("none", plain(false, "f-green", true)));
  }
  if (state.sampler) items.push(entry("synthetic", plain(false, "f-faint"), element("circle", { cx: 20, cy: 21, r: 18, class: "ring" })));
  $("legend").replaceChildren(...items);
}

// --- words about what is chosen ----------------------------------------------------------------
function percent(share) { return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`; }
function drawDetails() {
  const box = $("details"), [kind, at] = state.chosen || [], made = currentRows();
  const title = text => html("h2", {}, text);
  $("remove").disabled = !(kind === "row" && state.editable);
  for (const button of $("toggles").children)
    button.disabled = kind !== "row" || !state.editable,
    button.setAttribute("aria-pressed", kind === "row" && state.labels[at].includes(+button.dataset.label));
  if (kind === "row" && state.points[at]) box.replaceChildren(title(rowName(at)), ...rowWords(at));
  else if (kind === "new" && made && made.points[at]) box.replaceChildren(title(`Synthetic row ${at}`), ...childWords(made, at));
  else box.replaceChildren(title("Choose a point"), html("p", {},
    "A minority cell is a point with the rarer value of a label. C is the share of its k neighbors that have the other value. "
    + "By C a cell is safe, borderline, rare or an outlier; MLSOL chooses seeds by it, and gives each new row labels by its place and these types."));
}
function rowName(row) { return state.marks[row] ? `Point ${row} (${state.marks[row]})` : `Point ${row}`; }
function table(heads, rows) {
  return html("table", {}, html("thead", {}, html("tr", {}, ...heads.map(h => html("th", {}, h)))),
    html("tbody", {}, ...rows.map(row => html("tr", {}, ...row.map(cell => html("td", {}, ...[cell].flat()))))));
}
function typeWord(type) { return [html("span", { class: `type b-${type}` }), type ? NAMES[type] : "majority"]; }
function shownLabels(...rows) {
  if (state.names.length <= 3) return state.names.map((_, j) => j);
  return [...new Set([state.label, ...rows.flatMap(row => state.labels[row])])].sort((a, b) => a - b).slice(0, 8);
}
function rowWords(row) {
  const found = state.found;
  if (!found || !found.neighbors || !found.neighbors[row]) return [html("p", {}, found ? found.message : "…")];
  const total = found.weights.reduce((sum, w) => sum + w, 0), made = currentRows();
  const rows = shownLabels(row).map(j => {
    const cell = cellOf(row, j);
    return [state.names[j], state.labels[row].includes(j) ? "1" : "0", cell ? cell[3].toFixed(2) : "–", typeWord(cell ? cell[2] : 0)];
  });
  const out = [table(["label", "has", "C", "type"], rows),
    html("p", {}, `Chance to be MLSOL's seed: ${percent(total ? found.weights[row] / total : 0)} of all draws.`),
    html("p", {}, "Neighbors: " + found.neighbors[row].map((j, i) => `${state.marks[j] || j} (${found.distances[row][i].toFixed(2)})`).join(", "))];
  if (made) out.push(html("p", {}, `Seed of ${made.seeds.filter(seed => seed === row).length} of ${made.points.length} rows of ${state.sampler}.`));
  return out;
}
function childWords(made, i) {
  const seed = made.seeds[i], reference = made.references[i], cd = made.positions[i];
  if (reference < 0) return [html("p", {}, `A clone of ${rowName(seed).toLowerCase()}, with its labels.`)];
  const labels = shownLabels(seed, reference), has = (row, j) => state.labels[row].includes(j) ? "1" : "0";
  const out = [html("p", {}, `Between its seed, ${rowName(seed).toLowerCase()}, and its reference, ${rowName(reference).toLowerCase()}.`)];
  if (cd !== null) out.push(html("p", {}, `cd = ${cd.toFixed(3)} (0 at the seed, 1 at the reference).`));
  const rows = labels.map(j => [state.names[j], has(seed, j), has(reference, j), made.labels[i].includes(j) ? "1" : "0",
    cd === null ? "vote" : why(j, seed, reference, cd)]);
  out.push(table(["label", "seed", "ref.", "new", "why"], rows));
  return out;
}
// Line 6 of the paper's Algorithm 4, in words: how far the type of the minority parent reaches.
function why(j, seed, reference, cd) {
  if (state.labels[seed].includes(j) === state.labels[reference].includes(j)) return "both";
  const own = cellOf(seed, j), cell = own || cellOf(reference, j), at = own ? cd : 1 - cd;
  if (!cell) return "";
  const theta = state.theta[cell[2]];
  return `${own ? "cd" : "1 − cd"} ${at.toFixed(2)} ${at <= theta ? "≤" : ">"} θ ${Math.max(0, Math.min(1, theta)).toFixed(2)} (${NAMES[cell[2]]} ${own ? "seed" : "ref."})`;
}

// --- asking the library ------------------------------------------------------------------------
async function ask() {
  if (busy) { waiting = true; return; }
  busy = true;
  const indicator = state.labels.map(labels => state.names.map((_, j) => +labels.includes(j)));
  const rows = state.editable ? { points: state.points, labels: indicator } : { scene: state.scene };
  const settings = { n_neighbors: state.k, ratio: state.ratio, seed: state.seed, scale: state.scale };
  try {
    const answer = await fetch("explore", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...rows, ...settings }) });
    const found = await answer.json();
    warn(found.message);
    if (answer.ok) {
      state.found = found;
      state.heaviest = Math.max(0, ...(found.weights || []));
      state.cells = new Map((found.cells || []).map(cell => [cell[0] * state.names.length + cell[1], cell]));
    }
  } catch (problem) {
    warn("The playground does not answer: is it still running in the terminal?");
  }
  busy = false;
  show();
  document.body.dataset.ready = waiting ? "no" : "yes";
  if (waiting) { waiting = false; ask(); }
}
function warn(text) { $("alert").textContent = text || ""; $("alert").hidden = !text; }
function show() { draw(); drawPanels(); drawLegend(); drawDetails(); $("undo").disabled = !past.length; }
function changed() { document.body.dataset.ready = "no"; draw(); drawDetails(); ask(); }

// --- editing -----------------------------------------------------------------------------------
function remember() {
  past.push(JSON.stringify([state.points, state.labels, state.marks, state.chosen]));
  if (past.length > 100) past.shift();
}
function undo() {
  if (!past.length) return;
  [state.points, state.labels, state.marks, state.chosen] = JSON.parse(past.pop());
  changed();
}
function choose(kind, at) { state.chosen = kind ? [kind, at] : null; draw(); drawDetails(); }
function add(point) {
  if (!state.editable || state.points.length >= 1000) return;
  remember();
  const [kind, at] = state.chosen || [];
  state.points.push(point);
  state.labels.push(kind === "row" ? [...state.labels[at]] : [state.names.length - 1]);
  state.chosen = ["row", state.points.length - 1];
  changed();
}
function remove() {
  const [kind, at] = state.chosen || [];
  if (kind !== "row" || !state.editable || state.points.length < 2) return;
  remember();
  state.points.splice(at, 1);
  state.labels.splice(at, 1);
  state.marks = Object.fromEntries(Object.entries(state.marks).filter(([row]) => +row !== at)
    .map(([row, name]) => [+row > at ? row - 1 : row, name]));
  state.found = state.cells = null; // row numbers have moved
  state.heaviest = 0;
  state.chosen = null;
  changed();
}
function toggle(label) {
  const [kind, at] = state.chosen || [];
  if (kind !== "row" || !state.editable || label >= state.names.length) return;
  remember();
  const labels = state.labels[at];
  state.labels[at] = labels.includes(label) ? labels.filter(j => j !== label) : [...labels, label].sort();
  changed();
}
function pointer(event) {
  const box = $("plane").getBoundingClientRect();
  return [(event.clientX - box.left) * WIDTH / box.width, (event.clientY - box.top) * HEIGHT / box.height];
}
// A finger is wider than a point: the nearest one within reach counts.
function hit(event) {
  const [x, y] = pointer(event), reach = event.pointerType === "touch" ? 55 : 26, made = currentRows();
  let best = [reach, null];
  const offer = (kind, at, [px, py]) => {
    const far = Math.hypot(px - x, py - y);
    if (far < best[0]) best = [far, [kind, at]];
  };
  state.points.forEach((point, row) => offer("row", row, place(point)));
  if (made) childPlaces(made).forEach((spot, i) => offer("new", i, spot));
  return best[1];
}
let drag = null;
$("plane").addEventListener("pointerdown", event => {
  const found = hit(event);
  choose(...(found || []));
  if (found && found[0] === "row" && state.editable) {
    const [x, y] = pointer(event), [px, py] = place(state.points[found[1]]);
    drag = { row: found[1], x, y, dx: px - x, dy: py - y, moved: false };
    $("plane").setPointerCapture(event.pointerId);
  }
});
$("plane").addEventListener("pointermove", event => {
  if (!drag) return;
  const [x, y] = pointer(event);
  if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return; // a click, not a drag
  if (!drag.moved) { remember(); drag.moved = true; }
  state.points[drag.row] = unplace(...inside([x + drag.dx, y + drag.dy]));
  changed();
});
for (const end of ["pointerup", "pointercancel"]) $("plane").addEventListener(end, () => { drag = null; });
$("plane").addEventListener("dblclick", event => { if (!hit(event)) add(unplace(...pointer(event))); });
document.addEventListener("keydown", event => {
  const field = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "z" && (event.ctrlKey || event.metaKey) && !field) { event.preventDefault(); undo(); return; }
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const [kind, at] = state.chosen || [], n = state.points.length, key = event.key.toLowerCase();
  const arrows = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, 1], arrowdown: [0, -1] };
  if (key in arrows && event.target === $("plane") && kind === "row" && state.editable) {
    const step = (event.shiftKey ? 40 : 8) / frame.size;
    remember();
    state.points[at] = [state.points[at][0] + arrows[key][0] * step, state.points[at][1] + arrows[key][1] * step];
    changed();
  } else if (key === "n") choose("row", kind === "row" ? (at + 1) % n : 0);
  else if (key === "p") choose("row", kind === "row" ? (at + n - 1) % n : n - 1);
  else if (["1", "2", "3"].includes(key)) toggle(+key - 1);
  else if (key === "a") add([frame.x, frame.y]);
  else if (key === "delete" || key === "backspace") remove();
  else if (key === "escape") choose(null);
  else return;
  event.preventDefault();
});
$("add").addEventListener("click", () => add([frame.x, frame.y]));
$("remove").addEventListener("click", remove);
$("undo").addEventListener("click", undo);

// --- settings ----------------------------------------------------------------------------------
function bind(id, read) { $(id).addEventListener("input", event => { read(event.target); }); }
bind("k", field => { state.k = +field.value; $("k-value").textContent = field.value; changed(); });
bind("ratio", field => { state.ratio = +field.value; $("ratio-value").textContent = `${Math.round(100 * field.value)} %`; changed(); });
bind("seed", field => { if (field.validity.valid && field.value !== "") { state.seed = +field.value; changed(); } });
bind("scale", field => { state.scale = field.value || null; changed(); });
bind("label", field => { state.label = +field.value; show(); });
$("again").addEventListener("click", () => { $("seed").value = ++state.seed; changed(); });
$("views").addEventListener("input", event => {
  state.view = event.target.value;
  $("label-choice").hidden = state.view === "weights" || (state.view === "labels" && state.names.length <= 3);
  show();
});
for (const name of [...SAMPLERS, "none"]) {
  const box = html("input", { type: "radio", name: "sampler", value: name });
  box.checked = name === state.sampler;
  box.addEventListener("input", () => { state.sampler = name === "none" ? null : name; if (state.chosen && state.chosen[0] === "new") state.chosen = null; show(); });
  $("samplers").append(html("label", {}, box, name));
}
async function load(name) {
  const scene = await (await fetch(`scenes/${name}`)).json();
  Object.assign(state, { scene: name, points: scene.points, labels: scene.labels, names: scene.label_names, marks: scene.marks,
    theta: scene.theta, editable: scene.editable, total: scene.n_total, label: 0, chosen: null, found: null, cells: null, heaviest: 0, scale: null });
  past = [];
  $("label").replaceChildren(...state.names.map((label, j) => html("option", { value: j }, label)));
  $("label-choice").hidden = state.view === "weights" || (state.view === "labels" && state.names.length <= 3);
  $("scale-field").hidden = state.editable;
  $("scale").value = "";
  $("tools").hidden = !state.editable;
  $("hint").hidden = !state.editable;
  $("map-hint").hidden = state.editable;
  $("map-hint").textContent = "A map of the first two principal components; neighbors are found, and rows made, in the space of all features."
    + (state.total > state.points.length ? ` ${state.points.length} of ${state.total} rows are shown.` : "");
  $("toggles").replaceChildren(...(state.editable ? state.names.map((label, j) => {
    const button = html("button", { type: "button", "data-label": j }, icon(sign(j)), `${label} `, html("kbd", {}, `${j + 1}`));
    button.addEventListener("click", () => toggle(j));
    return button;
  }) : []));
  setFrame();
  show();
  changed();
}
async function start() {
  const scenes = await (await fetch("scenes")).json();
  $("scene").replaceChildren(...Object.entries(scenes).map(([name, title]) => html("option", { value: name }, title)));
  $("scene").addEventListener("input", () => load($("scene").value));
  const first = "data" in scenes ? "data" : "figure-1-b";
  $("scene").value = first;
  await load(first);
}
narrow.addEventListener("change", () => { setFrame(); show(); });
start();
