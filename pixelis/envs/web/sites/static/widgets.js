// The closed set of widgets of our sites. docs/reference/web_pages.md ("Widgets") is the specification; widgets.py does the
// same without a browser, and a test compares the two.
"use strict";
(() => {
  const SUGGESTIONS = 6;
  const collapse = (text) => text.replace(/[ \t\n\r\f\v\u00a0]+/g, " ").replace(/^ | $/g, "");
  const show = (element, shown) => { if (element) element.hidden = !shown; };
  const named = (id) => (id ? document.getElementById(id) : null);

  function toggle(button) {
    const target = named(button.dataset.toggle);
    if (!target) return;
    target.hidden = !target.hidden;
    button.setAttribute("aria-expanded", String(!target.hidden));
  }

  function chooseTab(button) {
    const bar = button.closest('[role="tablist"]');
    if (!bar) return;
    for (const other of bar.querySelectorAll("[data-tab]")) {
      other.setAttribute("aria-selected", String(other === button));
      show(named(other.dataset.tab), other === button);
    }
  }

  function suggest(field) {
    const box = named(field.dataset.autocomplete);
    if (!box) return;
    const text = collapse(field.value).toLowerCase();
    let count = 0;
    for (const entry of box.querySelectorAll("[data-fill]")) {
      const fits = text !== "" && count < SUGGESTIONS && collapse(entry.dataset.fill).toLowerCase().includes(text);
      if (fits) count += 1;
      show(entry, fits);
    }
    show(box, count > 0);
  }

  function fill(entry) {
    for (let box = entry.parentElement; box; box = box.parentElement) {
      if (!box.id) continue;
      for (const field of document.querySelectorAll("input[data-autocomplete]")) {
        if (field.dataset.autocomplete === box.id) {
          field.value = entry.dataset.fill;
          show(box, false);
          return;
        }
      }
    }
  }

  function cellText(row, column) {
    const cell = row.cells[column];
    if (!cell) return "";
    return "value" in cell.dataset ? cell.dataset.value : collapse(cell.textContent);
  }

  function sort(button) {
    const head = button.closest("th");
    const table = button.closest("table");
    if (!head || !table) return;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    if (!body) return;
    const column = Number(button.dataset.sort || 0);
    const numeric = "numeric" in button.dataset;
    const sign = down ? -1 : 1;
    const key = (row) => {
      const text = cellText(row, column);
      return numeric ? parseFloat(text.replace(/,/g, "")) : text.toLowerCase();
    };
    const rows = Array.from(body.rows, (row) => ({ row, key: key(row) }));
    rows.sort((a, b) => {
      if (numeric && (Number.isNaN(a.key) || Number.isNaN(b.key))) {
        return Number(Number.isNaN(a.key)) - Number(Number.isNaN(b.key));
      }
      return a.key < b.key ? -sign : a.key > b.key ? sign : 0;
    });
    body.append(...rows.map((one) => one.row));
  }

  document.addEventListener("click", (event) => {
    const element = event.target.closest(
      "[data-toggle], [data-tab], [data-dialog], [data-close], [data-fill], [data-sort]");
    if (!element) return;
    const data = element.dataset;
    if ("toggle" in data) toggle(element);
    if ("tab" in data) chooseTab(element);
    if ("dialog" in data) show(named(data.dialog), true);
    if ("close" in data) show(element.closest("[data-overlay]"), false);
    if ("fill" in data) fill(element);
    if ("sort" in data) sort(element);
  });

  document.addEventListener("input", (event) => {
    if (event.target.dataset && "autocomplete" in event.target.dataset) suggest(event.target);
  });

  // The environment moves the clock on after each action that loaded no document.
  let clock = 0;
  window.pixelisTick = () => {
    clock += 1;
    for (const element of document.querySelectorAll("[data-after], [data-until]")) {
      if (element.dataset.after === String(clock)) show(element, true);
      if (element.dataset.until === String(clock)) show(element, false);
    }
  };
})();
