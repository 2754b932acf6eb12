(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { names, sides } = data;
  const TYPES = ["safe", "borderline", "rare", "outlier"];
  const WHEN = sides.length > 1 ? ["before", "after"] : [""];
  const PAGE = 100;

  // --- small helpers: all text goes through textContent, so that no name can become markup ---
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      if (name === "style") Object.assign(element.style, value);
      else if (value !== null && value !== false) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null).map((child) => child instanceof Node ? child : String(child)));
    return element;
  };
  const draw = (tag, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const whole = (value) => value.toLocaleString("en-US");
  const decimal = (value, digits = 2) => value === null ? "–" : value.toLocaleString("en-US",
    { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
  const plural = (count, thing) => `${whole(count)} ${thing}${count === 1 ? "" : "s"}`;
  const title = (text, when) => when ? `${text}, ${when}` : text;
  // Its own box keeps the button for more columns next to a table.
  const table = (caption, heads, rows, words = 1) => {
    const cell = (tag, value, place, scope) => make(tag, { class: place < words ? "word" : null, scope }, value);
    return make("div", {}, make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": caption },
      make("table", {}, make("caption", {}, caption),
        make("thead", {}, make("tr", {}, ...heads.map((head, place) => cell("th", head, place, "col")))),
        make("tbody", {}, ...rows.map((row) => make("tr", {},
          ...row.map((value, place) => place ? cell("td", value, place, null) : cell("th", value, place, "row"))))))));
  };
  // A part for every side, with its own heading where there are two.
  const fill = (id, part) => {
    const box = document.querySelector(`#${id} .sides`);
    sides.forEach((side, s) => box.append(make("div", {}, WHEN[s] ? make("h3", {}, WHEN[s][0].toUpperCase() + WHEN[s].slice(1)) : null,
      ...part(side, WHEN[s], s).filter(Boolean))));
  };
  const note = (text) => make("p", { class: "note" }, text);
  const sampled = (side) => side.searched !== null && side.searched < side.n
    ? ` Neighbors were searched among ${whole(side.searched)} rows drawn at random.` : "";

  // --- measures ---
  const drawMeasures = () => {
    const box = byId("measures");
    const card = (name, values) => box.append(make("div", {}, make("dt", {}, name), make("dd", {}, values.join(" → "))));
    const of = (name, value) => name === "labelsets" && value !== null ? whole(value) : decimal(value, ["density", "SCUMBLE"].includes(name) ? 3 : 2);
    card("rows", sides.map((side) => whole(side.n)));
    if (sides[0].d !== null) card("features", [whole(sides[0].d)]);
    card("labels", [whole(names.length)]);
    sides[0].measures.forEach(([name], m) => card(name, sides.map((side) => of(name, side.measures[m][1]))));
  };

  const drawContents = () => {
    for (const section of document.querySelectorAll("main > section:not([hidden])"))
      byId("contents").append(make("li", {}, make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
  };

  // --- labels: a curve of all, and a table of those that are found ---
  const mostRows = sides.flatMap((side) => side.count).reduce((a, b) => Math.max(a, b), 1);
  const known = (side, j) => side.n - (side.unknown ? side.unknown[j] : 0);
  const rarer = (side, j) => Math.min(side.count[j], known(side, j) - side.count[j]);
  const constant = (j) => sides.some((side) => rarer(side, j) === 0);
  const tooRare = (j) => !constant(j) && sides.some((side) => rarer(side, j) < Number(byId("folds").value));

  const drawFrequency = () => {
    const W = Math.max(320, Math.min(720, byId("frequency").clientWidth)), H = 240, left = 48, bottom = 30, top = 32;
    const decades = Math.max(1, Math.log10(mostRows));
    const x = (rank) => left + (W - left - 8) * rank / names.length;
    const y = (count) => top + (H - top - bottom) * (1 - Math.log10(Math.max(count, 0.7)) / decades);
    const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label":
      `Rows of every label, rarest first, on a log scale: at most ${whole(mostRows)}` });
    for (let power = 0; power <= decades; power += 1) {
      svg.append(draw("line", { x1: left, x2: W - 8, y1: y(10 ** power), y2: y(10 ** power), stroke: "var(--line)" }));
      svg.append(draw("text", { x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end" }, whole(10 ** power)));
    }
    const colors = ["var(--blue)", "var(--t3)"];
    sides.forEach((side, s) => {
      const counts = [...side.count].sort((a, b) => a - b);
      const path = counts.map((count, rank) => `${rank ? "L" : "M"}${x(rank).toFixed(1)} ${y(count).toFixed(1)}H${x(rank + 1).toFixed(1)}`);
      svg.append(draw("path", { d: path.join(""), fill: "none", stroke: colors[s], "stroke-width": 2 }));
    });
    svg.append(draw("text", { x: W - 8, y: H - 8, "text-anchor": "end" }, `${whole(names.length)} labels, rarest first`));
    svg.append(draw("text", { x: 0, y: 14 }, "rows with the label, log scale"));
    const figure = byId("frequency");
    figure.append(svg);
    if (sides.length > 1) figure.append(make("p", { class: "legend" }, ...WHEN.map((when, s) =>
      make("span", {}, make("i", { style: { background: colors[s] } }), when))));
  };

  const hard = (side, j) => {
    const all = TYPES.reduce((sum, _, t) => sum + side.types[t][j], 0);
    return all ? 1 - side.types[0][j] / all : null;
  };
  const typesBar = (side, j) => {
    const counts = TYPES.map((_, t) => side.types[t][j]);
    const all = counts.reduce((a, b) => a + b, 0);
    const words = all ? TYPES.map((type, t) => `${counts[t]} ${type}`).join(", ") : "no minority cells";
    return make("div", { class: "types", role: "img", "aria-label": words, title: words },
      ...counts.map((count, t) => make("i", { style: { width: all ? `${100 * count / all}%` : 0, background: `var(--t${t + 1})` } })));
  };
  const rowsBar = (j) => {
    const width = (count) => count ? 100 * Math.log10(count + 1) / Math.log10(mostRows + 1) : 0;
    return [make("div", {}, ...sides.map((side) => make("i", { style: { width: `${width(side.count[j])}%` } }))),
      make("span", {}, sides.map((side) => whole(side.count[j])).join(" → "))];
  };

  // Every column: heading, the value to sort by, and what its cell holds.
  const columns = [{ head: "label", value: (j) => names[j], cell: (j) => [names[j]] }];
  // Two sides share a column, before → after, which is sorted by the first.
  const number = (head, key, digits) => sides[0][key] && columns.push({ head, value: (j) => sides[0][key][j],
    cell: (j) => [sides.map((side) => side[key] ? decimal(side[key][j], digits) : "–").join(" → ")] });
  columns.push({ head: "rows", kind: "bar", value: (j) => sides[0].count[j], cell: rowsBar });
  if (sides.length === 1) columns.push({ head: "share", value: (j) => sides[0].count[j] / (known(sides[0], j) || 1), cell: (j) => [percent(sides[0].count[j] / (known(sides[0], j) || 1))] });
  number("unknown", "unknown", 0);
  if (sides.every((side) => side.types)) columns.push({ head: "types", value: (j) => hard(sides[0], j), cell: (j) => sides.map((side) => typesBar(side, j)) });
  number("IRLbl", "irlbl", 1);
  number("ImR", "imr", 1);
  number("SCUMBLE", "scumble", 3);
  number("AUC of neighbors", "auc", 2);
  columns.push({ head: "folds", kind: "word", value: (j) => Math.min(...sides.map((side) => rarer(side, j))),
    cell: (j) => sides.some((side) => known(side, j) === 0) ? ["known in no row"]
      : constant(j) ? [sides.some((side) => side.count[j] === 0) ? "constant: in no row" : "constant: in all rows"]
      : tooRare(j) ? [make("span", { class: "flag" }, `too rare for ${byId("folds").value}`)] : ["ok"] });

  const state = { column: 1, up: true, shown: PAGE, found: [] };
  const order = (a, b) => {
    const value = columns[state.column].value, p = value(a), q = value(b);
    if (p === null || q === null) return p === q ? a - b : p === null ? 1 : -1; // undefined comes last
    const before = typeof p === "string" ? p.localeCompare(q, "en", { numeric: true }) : p - q;
    return (state.up ? before : -before) || a - b;
  };
  const listLabels = () => {
    const wanted = byId("search").value.trim().toLowerCase(), only = byId("only-rare").checked;
    state.found = names.map((_, j) => j)
      .filter((j) => names[j].toLowerCase().includes(wanted) && (!only || tooRare(j))).sort(order);
    const shown = state.found.slice(0, state.shown);
    const body = byId("label-table").tBodies[0];
    body.replaceChildren(...shown.map((j) => make("tr", {}, ...columns.map((one, c) =>
      make(c ? "td" : "th", { class: one.kind ?? null, scope: c ? null : "row" }, ...one.cell(j))))));
    byId("found").textContent = `${whole(state.found.length)} of ${plural(names.length, "label")}`;
    byId("more").hidden = shown.length === state.found.length;
    byId("more").textContent = `Show more (${whole(state.found.length - shown.length)} left)`;
  };
  const sortBy = (c) => {
    state.up = state.column === c ? !state.up : true;
    state.column = c;
    markSorted();
    listLabels();
  };
  const markSorted = () => [...byId("label-table").tHead.rows[0].cells].forEach((head, c) =>
    c === state.column ? head.setAttribute("aria-sort", state.up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
  const drawLabels = () => {
    byId("folds").value = String(data.folds);
    byId("label-table").append(make("caption", {}, "Labels"), make("thead", {}, make("tr", {}, ...columns.map((one, c) => {
      const button = make("button", { type: "button" }, one.head);
      button.addEventListener("click", () => sortBy(c));
      return make("th", { scope: "col", class: c ? null : "word" }, button);
    }))), make("tbody"));
    markSorted();
    listLabels();
    const relist = () => { state.shown = PAGE; listLabels(); };
    byId("search").addEventListener("input", relist);
    byId("folds").addEventListener("change", relist);
    byId("only-rare").addEventListener("change", relist);
    byId("more").addEventListener("click", () => { state.shown += PAGE; listLabels(); });
    const words = [sides.length > 1 ? "Before → after. " : "", "IRLbl: rows of the most frequent label over those of this one. ImR: rows of the label's larger class over those of its smaller one. ",
      sides[0].scumble ? "SCUMBLE: how much the label shares rows with labels of other frequency. " : "Only known cells count. "];
    if (sides[0].types) words.push(`Types: minority cells among their ${sides[0].k} nearest neighbors. `,
      "AUC: how well the neighbors' votes order the rows of the label; 0.5 is chance.", sampled(sides[0]));
    byId("label-note").append(...words);
    if (sides[0].types) byId("label-note").before(typeLegend());
  };
  const typeLegend = () => make("p", { class: "legend" }, ...TYPES.map((type, t) =>
    make("span", {}, make("i", { style: { background: `var(--t${t + 1})` } }), type)));

  // --- labels that occur together ---
  const drawTogether = () => fill("together", (side, when) => {
    const { labels, rows, among } = side.together;
    const varying = names.filter((_, j) => rarer(side, j) > 0).length;
    if (labels.length < 2) return [note("Fewer than two labels vary.")];
    const told = make("p", { class: "note", role: "status" }, "Point at a cell, or see the strongest pairs below.");
    const say = (a, b) => `${names[labels[a]]} and ${names[labels[b]]}: ${plural(rows[a][b], "row")}, ${percent(part(a, b))} of ${names[labels[a]]}${side.unknown ? " where both are known" : ""}`;
    const grid = make("tbody", {}, ...labels.map((label, a) => make("tr", {}, make("th", { scope: "row" }, names[label]),
      ...labels.map((_, b) => make("td", { "data-a": a, "data-b": b,
        style: { background: a === b ? "var(--line)" : `rgba(var(--heat), ${part(a, b).toFixed(3)})` } })))));
    grid.addEventListener("pointerover", (event) => {
      const { a, b } = event.target.dataset;
      if (a !== undefined) told.textContent = say(Number(a), Number(b));
    });
    const pairs = labels.flatMap((_, a) => labels.slice(a + 1).map((_, b) => [a, a + 1 + b]))
      .filter(([a, b]) => rows[a][b]).sort((p, q) => share(q) - share(p)).slice(0, 8);
    function part(a, b) { return rows[a][b] / (among[a][b] || 1); }
    function share([a, b]) { return rows[a][b] / Math.min(among[a][b], among[b][a]); }
    return [
      note((side.unknown ? "Shares are of the rows in which both labels are known. " : `SCUMBLE ${decimal(side.measures.find(([name]) => name === "SCUMBLE")[1], 3)}: 0 where only labels of equal frequency share rows; above 0.1 rare labels often share rows with frequent ones. `)
        + (labels.length < varying ? `Of ${whole(varying)} labels that vary, the ${labels.length} shown are the most frequent${side.unknown ? "" : " and those of largest SCUMBLE"}.` : "")),
      make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": title("Labels that occur together", when) },
        make("table", { class: "grid" }, make("caption", {}, "Share of the rows of the label on the left that also have the one above"),
          make("thead", {}, make("tr", {}, make("td"), ...labels.map((label) => make("th", { scope: "col" }, make("span", {}, names[label]))))), grid)),
      told,
      table(title("Strongest pairs", when), ["label", "with", "rows", "of the rarer", "SCUMBLE"], pairs.map(([a, b]) => {
        const [few, many] = among[a][b] < among[b][a] ? [a, b] : [b, a];
        return [names[labels[few]], names[labels[many]], whole(rows[a][b]), percent(share([a, b])), decimal(side.scumble ? side.scumble[labels[few]] : null, 3)];
      }), 2),
    ];
  });

  // --- labelsets ---
  const drawLabelsets = () => fill("labelsets", (side, when) => {
    if (!side.labelsets) return [note("Not compared: some labels of some rows are unknown.")];
    const { bands, top } = side.labelsets;
    const sets = bands.reduce((sum, band) => sum + band[1], 0);
    return [
      note(`${plural(sets, "different labelset")} in ${plural(side.n, "row")}; ${whole(bands[0][1])} of them (${percent(bands[0][1] / sets)}) are seen once. Methods that learn whole labelsets (label powerset) have one example of those.`),
      table(title("How often labelsets are seen", when), ["seen", "labelsets", "rows"], bands.filter((band) => band[1]).map(([name, count, rows]) => [name, whole(count), whole(rows)])),
      table(title("Most frequent labelsets", when), ["labelset", "rows"], top.map(([rows, labels]) =>
        [labels.length ? labels.slice(0, 8).map((j) => names[j]).join(", ") + (labels.length > 8 ? ` and ${labels.length - 8} more` : "") : "no label", whole(rows)])),
    ];
  });

  // --- neighbors, hubs, features ---
  const drawNeighbors = () => fill("neighbors", (side, when) => {
    const told = [];
    if (side.auc) {
      const defined = side.auc.filter((auc) => auc !== null), better = defined.filter((auc) => auc > 0.55).length;
      const mean = side.mean_auc, word = mean === null ? "" : mean < 0.6 ? "hardly better than the prior" : mean < 0.75 ? "better than the prior" : "far better than the prior";
      told.push(make("p", {}, make("strong", {}, `Neighbors vote ${word}: `),
        `their mean AUC is ${decimal(mean)} (the prior has 0.50), and above 0.55 for ${whole(better)} of ${plural(defined.length, "label")}. Methods that look at neighbors, such as MLkNN, MLSOL and MLSMOTE, depend on this.${sampled(side)}`));
      const { skewness, share_never, most } = side.hubness;
      told.push(make("p", {}, make("strong", {}, skewness > 2 ? "There are hubs: " : "No hubs: "),
        `one row is among the ${side.k} neighbors of ${whole(most)} others, ${percent(share_never)} of rows are in no row's list (skewness ${decimal(skewness, 1)}; above 2, few rows speak for many).`));
    } else told.push(note("Neighbors were not searched."));
    return told;
  });

  // --- columns of X ---
  const histogram = (bins) => {
    const most = Math.max(...bins, 1), step = 72 / Math.max(bins.length, 1);
    return draw("svg", { viewBox: "0 0 72 18", class: "spark", role: "img", "aria-label": `histogram: ${bins.join(", ")} rows` },
      ...bins.map((rows, b) => draw("rect", { x: b * step, width: step - 1, y: 18 - 18 * rows / most, height: 18 * rows / most })));
  };
  const shareBar = (share) => share === null ? "–" : make("div", { class: "share" },
    make("i", { style: { width: `${100 * share}%` } }), make("span", {}, share > 0 && share < 0.001 ? "<0.1%" : percent(share)));
  const drawColumns = () => {
    if (!sides[0].columns.length) { byId("columns").hidden = true; return; }
    fill("columns", (side, when) => [
      note((side.columns.length < side.d ? `${side.columns.length} of ${plural(side.d, "column")}. ` : "")
        + "Distance: how much of the mean squared distance between two rows a column takes. The largest shares decide which rows are neighbors."),
      side.dominant ? make("p", {}, make("strong", { class: "flag" }, `Distances are those of ${side.dominant} alone: `),
        "all others take less than 0.1 % of the mean squared distance. Scale X first, or pass scale='standard'.") : null,
      table(title("Columns", when), ["column", "type", "missing", "distinct", "spread", "distance"],
        side.columns.map(([name, kind, missing, distinct, spread, bins, share]) =>
          [name, kind, missing ? `${whole(missing)} (${percent(missing / side.n)})` : "0", whole(distinct), make("div", { class: "spread" }, histogram(bins), spread), shareBar(share)]), 2),
    ]);
  };

  // --- rows that look mislabelled ---
  const drawSuspects = () => fill("suspects", (side, when) => {
    if (!side.auc) return [note("Neighbors were not searched.")];
    if (!side.suspects.length) return [note("None: nowhere do most neighbors vote against a cell with votes that are ten times as likely for the other value of its label.")];
    return [
      note(`Cells whose ${side.k} neighbors vote as those of rows with the other value. Look at these rows first; a rare but right label looks the same. `
        + `"20× better": such votes are 20 times as common among rows with the other value.${sampled(side)}`),
      table(title("Rows that look mislabelled", when), ["label", "row (from 0)", "label given", "neighbors with it", "other value fits"],
        side.suspects.map(([row, label, has, votes, times]) =>
          [names[label], whole(row), has ? "yes" : "no", side.unknown ? `${percent(votes / side.k)} of those that know it` : `${votes} of ${side.k}`, `${whole(times)}× better`])),
    ];
  });

  // --- folds ---
  const drawFeasible = () => fill("feasible", (side, when) => [
    table(title("Folds", when), ["folds", "labels in every fold", "too rare", "constant"], [2, 3, 5, 10].map((folds) => {
      const same = names.filter((_, j) => rarer(side, j) === 0).length;
      const rare = names.filter((_, j) => rarer(side, j) < folds).length - same;
      return [String(folds), whole(names.length - rare - same), whole(rare), whole(same)];
    })),
    note("A label with fewer rows, or fewer rows without it, than there are folds is missing from the test rows of some: its AUC is not defined there."),
  ]);

  // --- the map ---
  const drawMap = () => {
    if (!sides[0].map) { byId("map").hidden = true; return; }
    const select = byId("map-label");
    const onMap = new Set(sides.flatMap((side) => side.map.cells.flat().map((code) => Math.floor(code / 5) - 1)));
    const choices = [...onMap].sort((a, b) => rarer(sides[0], a) - rarer(sides[0], b) || a - b);
    select.append(...choices.map((j) => make("option", { value: j }, `${names[j]} (${whole(sides[0].count[j])})`)));
    // Not the very rarest first: a handful of points says little.
    const first = choices.findIndex((j) => rarer(sides[0], j) >= 20);
    if (choices.length) select.selectedIndex = Math.max(0, first);
    const canvases = [], tell = [];
    fill("map", (side, when, s) => {
      canvases[s] = make("canvas", { role: "img" });
      tell[s] = note("");
      const some = side.map.row.length < side.n ? `${whole(side.map.row.length)} of ${plural(side.n, "row")}, half drawn at random and half for their rare labels. ` : "";
      return [canvases[s], sides[0].types ? typeLegend() : null, tell[s],
        note(`${some}Two principal components of the features; near in the picture is not always near in the data.${sampled(side)}`)];
    });
    const paint = () => {
      const label = Number(select.value), style = getComputedStyle(document.documentElement);
      sides.forEach((side, s) => {
        const canvas = canvases[s], box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
        canvas.width = Math.max(1, box.width * scale);
        canvas.height = Math.max(1, box.height * scale);
        const pen = canvas.getContext("2d");
        pen.scale(scale, scale);
        const dot = (i, color, size) => {
          pen.fillStyle = style.getPropertyValue(color);
          pen.beginPath();
          pen.arc(8 + side.map.x[i] / 999 * (box.width - 16), box.height - 8 - side.map.y[i] / 999 * (box.height - 16), size, 0, 7);
          pen.fill();
        };
        const typed = [];
        side.map.cells.forEach((codes, i) => {
          const code = codes.find((one) => Math.floor(one / 5) - 1 === label);
          if (code === undefined) dot(i, "--point", 2); else typed.push([i, code % 5]);
        });
        for (const [i, type] of typed) dot(i, `--t${type}`, 4);
        const words = `${plural(typed.length, "row")} of ${choices.length ? names[label] : "no label"} among ${whole(side.map.row.length)} on the map`;
        canvas.setAttribute("aria-label", words);
        tell[s].textContent = `${words}.`;
      });
    };
    select.addEventListener("change", paint);
    window.addEventListener("resize", paint);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    paint();
  };

  document.body.classList.add(sides.length > 1 ? "two" : "one");
  drawMeasures();
  drawLabels();
  drawFrequency();
  drawTogether();
  drawLabelsets();
  drawColumns();
  drawNeighbors();
  drawSuspects();
  drawFeasible();
  drawMap();
  drawContents();
  document.querySelectorAll(".scroll").forEach(offerColumns);
  document.documentElement.dataset.ready = "yes";
})();
