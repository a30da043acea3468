// The page is complete without this. It hides a learner when its name in a legend is clicked, and reads curves off under the pointer.
(() => {
  "use strict";
  const toggle = (series) => {
    for (const drawn of document.querySelectorAll(`[data-learner="${series}"], [data-toggles="${series}"]`)) drawn.classList.toggle("off");
  };
  for (const entry of document.querySelectorAll("[data-toggles]")) {
    entry.classList.add("switch");
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.addEventListener("click", () => toggle(entry.dataset.toggles));
    entry.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(entry.dataset.toggles); }
    });
  }

  const readout = document.createElement("div");
  readout.className = "readout";
  readout.hidden = true;
  document.body.append(readout);

  const axis = (text) => {
    const [kind, ...numbers] = text.split(" ");
    const [low, high, start, end] = numbers.map(Number);
    return (place) => {
      const share = (place - start) / (end - start);
      return kind === "log" ? low * (high / low) ** share : low + share * (high - low);
    };
  };
  const short = (number) => number.toLocaleString("en", { maximumSignificantDigits: 4 });
  const points = (line) => line.tagName === "circle"
    ? [[Number(line.getAttribute("cx")), Number(line.getAttribute("cy"))]]
    : line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number));
  const nearest = (candidates, x) => candidates.reduce((best, point) => Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best);

  let shown = null;
  for (const plot of document.querySelectorAll(".plot")) {
    const picture = plot.ownerSVGElement;
    const [across, up] = [axis(plot.dataset.across), axis(plot.dataset.up)];
    const [left, right] = plot.dataset.across.split(" ").slice(3).map(Number);
    const [bottom, top] = plot.dataset.up.split(" ").slice(3).map(Number);
    const lines = [...plot.querySelectorAll("[data-name]")].map((line) => [line, points(line)]);
    picture.addEventListener("pointerleave", () => { readout.hidden = true; });
    picture.addEventListener("pointermove", (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
      if (!(place.x >= left && place.x <= right && place.y >= top && place.y <= bottom)) {
        // A picture may hold several plots: only the one that is read off may end it.
        if (shown === plot) readout.hidden = true;
        return;
      }
      shown = plot;
      readout.hidden = false;
      const heading = document.createElement("b");
      heading.textContent = `${plot.dataset.unit}: ${short(across(place.x))}`;
      const rows = [];
      for (const [line, candidates] of lines) {
        if (line.closest(".off")) continue;
        const [x, y] = nearest(candidates, place.x);
        if (Math.abs(x - place.x) > 0.1 * (right - left)) continue;
        const row = document.createElement("div");
        row.textContent = `${line.dataset.name}: ${short(up(y))}`;
        rows.push([y, row]);
      }
      rows.sort((one, other) => one[0] - other[0]);
      readout.replaceChildren(heading, ...rows.map((row) => row[1]));
      const onRight = event.clientX > window.innerWidth / 2;
      readout.style.left = onRight ? "auto" : `${event.clientX + 16}px`;
      readout.style.right = onRight ? `${window.innerWidth - event.clientX + 16}px` : "auto";
      readout.style.top = `${Math.min(event.clientY + 12, window.innerHeight - readout.offsetHeight - 8)}px`;
    });
  }
})();
