// Elements, made without markup in strings: what clients have named can never become code.

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

/** Writes a text only if it is another one: what has not changed is not read out again. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Says something to those who listen to the page. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** A table with a caption, in a box that scrolls sideways and can be reached by keyboard. */
export function table(caption, columns, { hideCaption = false } = {}) {
  const body = h("tbody");
  const head = columns.map((column) => h("th", { scope: "col", class: column.kind ?? "number" }, column.name));
  const element = h("table", {},
    h("caption", { class: hideCaption ? "hidden-text" : undefined }, caption),
    h("thead", {}, h("tr", {}, head)),
    body);
  const box = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, element);
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

/** A section with a heading that names it. */
export function section(title, ...children) {
  const id = `section-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

let dialogCloses = null;

/** Shows a dialog; resolves with what its form gives, or null if it is dismissed. */
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
    const submit = (event) => {
      event.preventDefault();
      close(read ? read() : true);
    };
    dialog.oncancel = (event) => {
      event.preventDefault();
      if (cancel) close(null);
    };
    // Browsers close it at the second try, whatever the page wants.
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
