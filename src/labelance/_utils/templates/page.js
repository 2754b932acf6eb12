"use strict";
// A table wider than the window says so, by a button that shows its next columns.
const offerColumns = (box) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "hint";
  button.textContent = "More columns →";
  button.addEventListener("click", () => {
    const first = box.querySelector("tbody th")?.offsetWidth ?? 0;
    box.scrollBy({ left: Math.max(80, box.clientWidth - first - 24) });
  });
  box.before(button);
  const update = () => { button.hidden = box.scrollLeft + box.clientWidth >= box.scrollWidth - 2; };
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
  update();
};
