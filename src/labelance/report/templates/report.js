(() => {
  const chooser = document.getElementById("chooser");
  const learner = document.getElementById("choose-learner");
  const metric = document.getElementById("choose-metric");

  // A section without a measure belongs to all measures of its learner.
  const fits = (select, value) => !select.value || !value || select.value === value;
  const show = () => {
    for (const part of document.querySelectorAll(".detail"))
      part.hidden = !(fits(learner, part.dataset.learner) && fits(metric, part.dataset.metric));
  };

  const number = (text) => {
    const found = text.replace(/,/g, "").match(/^[<–-]?\s*(\d+\.?\d*)/);
    return found ? Number((text.startsWith("-") ? "-" : "") + found[1]) : NaN;
  };
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (Number.isNaN(x) && Number.isNaN(y)) return a.localeCompare(b);
    // What has no number comes last.
    return Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : x - y;
  };
  // Runs of equal first words stay together, and totals stay at the foot.
  const sort = (table, column, up) => {
    const text = (row) => row.cells[column].textContent.trim();
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("total"));
      rows.sort((a, b) => (up ? 1 : -1) * compare(text(a), text(b)));
      body.prepend(...rows);
    }
  };
  const makeSortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, column, up);
      });
    });
  };

  document.querySelectorAll(".scroll").forEach(offerColumns);
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  chooser.hidden = false;
  for (const select of [learner, metric]) {
    // One learner and one measure first: the whole is long on a phone.
    select.selectedIndex = Math.min(1, select.options.length - 1);
    select.addEventListener("change", show);
  }
  show();
  document.documentElement.dataset.ready = "yes";
})();
