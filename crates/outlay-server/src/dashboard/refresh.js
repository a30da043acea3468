// Updates rows in place. Unchanged elements stay, so selected text stays selected and changes of bars are animated.

/** Makes `now` equal to `wanted`, changing only the differences. */
function mend(now, wanted) {
  if (now.isEqualNode(wanted)) return;
  if (now.nodeType !== wanted.nodeType || now.nodeName !== wanted.nodeName) {
    now.replaceWith(wanted);
    return;
  }
  if (now.nodeType === Node.TEXT_NODE) {
    now.data = wanted.data;
    return;
  }
  for (const name of now.getAttributeNames()) if (!wanted.hasAttribute(name)) now.removeAttribute(name);
  for (const name of wanted.getAttributeNames()) {
    // The content security policy forbids style attributes, but not this.
    if (name === "style") now.style.cssText = wanted.style.cssText;
    else if (now.getAttribute(name) !== wanted.getAttribute(name)) now.setAttribute(name, wanted.getAttribute(name));
  }
  const [children, others] = [[...now.childNodes], [...wanted.childNodes]];
  others.forEach((other, place) => (children[place] === undefined ? now.append(other) : mend(children[place], other)));
  children.slice(others.length).forEach((child) => child.remove());
}

/** Updates the rows of a table body. The first cell identifies a row. */
export function refresh(body, rows) {
  const key = (row) => row.firstChild.textContent;
  const known = new Map([...body.children].map((row) => [key(row), row]));
  const wanted = new Set(rows.map(key));
  for (const [name, row] of known) if (!wanted.has(name)) row.remove();
  rows.forEach((row, place) => {
    const now = known.get(key(row)) ?? row;
    if (now !== row) mend(now, row);
    if (body.children[place] !== now) body.insertBefore(now, body.children[place] ?? null);
  });
}
