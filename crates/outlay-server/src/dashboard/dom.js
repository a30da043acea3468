// Creates elements without markup in strings, so that names chosen by clients can never become code.

import { count } from "./words.js";

/** An element: attributes, `on…` handlers, then children (elements, text, or nothing). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets a text only if it differs, so that screen readers do not repeat unchanged text. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Announces a text to screen readers. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** A box can be focused by keyboard only while it can scroll. */
const scrolls = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const box = target.closest(".scroll");
    if (box === null) continue;
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else if (box !== document.activeElement) box.removeAttribute("tabindex");
  }
});

/** A table with a caption, in a box that scrolls horizontally and can then be focused by keyboard. */
export function table(caption, columns, { hideCaption = false } = {}) {
  const body = h("tbody");
  const head = columns.map((column) => h("th", { scope: "col", class: column.kind ?? "number" }, column.name));
  const element = h("table", {},
    h("caption", { class: hideCaption ? "hidden-text" : undefined }, caption),
    h("thead", {}, h("tr", {}, head)),
    body);
  const box = h("div", { class: "scroll", role: "region", "aria-label": caption }, element);
  scrolls.observe(box);
  scrolls.observe(element);
  return { box, body, table: element };
}

/** A row: the first cell names it. */
export function row(columns, cells) {
  const cell = (content, place) => {
    const kind = columns[place].kind ?? "number";
    return place === 0 ? h("th", { scope: "row", class: kind }, content) : h("td", { class: kind }, content);
  };
  return h("tr", {}, cells.map(cell));
}

/** A button that expands and collapses a long list. It stays in place and keeps the focus. */
export function allOrFewer(most, redraw) {
  let isWhole = false;
  const button = h("button", { type: "button", class: "more", hidden: true, onclick: () => {
    isWhole = !isWhole;
    redraw();
  } });
  return {
    button,
    /** The visible part of a list; `words` name its entries. */
    of(list, words) {
      button.hidden = list.length <= most;
      write(button, isWhole ? `Show only ${most} ${words}` : `Show all ${count(list.length)} ${words}`);
      return isWhole ? list : list.slice(0, most);
    },
  };
}

/** A section with a heading that names it. */
export function section(title, ...children) {
  const id = `section-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

let dialogCloses = null;
let isDismissable = false;

/** Closes the dialog on navigation, unless it needs an answer. */
export function dismiss() {
  if (isDismissable) dialogCloses?.(null);
}

/** Shows a dialog; resolves with the value of its form, or null if it is dismissed. */
export function ask({ title, content, action, kind, read, cancel = true }) {
  const dialog = document.getElementById("dialog");
  dialogCloses?.(null);
  return new Promise((resolve) => {
    const close = (value) => {
      dialogCloses = null;
      dialog.oncancel = dialog.onclose = null;
      dialog.close();
      resolve(value);
    };
    dialogCloses = close;
    isDismissable = cancel;
    const submit = (event) => {
      event.preventDefault();
      close(read ? read() : true);
    };
    dialog.oncancel = (event) => {
      event.preventDefault();
      if (cancel) close(null);
    };
    // Browsers close a dialog at the second attempt, even if the page prevents it.
    dialog.onclose = () => !dialog.open && close(null);
    dialog.replaceChildren(h("form", { onsubmit: submit },
      h("h2", { id: "dialog-title" }, title),
      content,
      h("div", { class: "buttons" },
        cancel && h("button", { type: "button", onclick: () => close(null) }, "Cancel"),
        h("button", { type: "submit", class: kind ?? "primary" }, action))));
    dialog.showModal();
  });
}
