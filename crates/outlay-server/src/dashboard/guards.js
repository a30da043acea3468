// The effect of the guards on the next round.

import { h, write } from "./dom.js";
import { amount, listed, plural } from "./words.js";

const NAMES = { max_change_cost: "the limit on changes", floor_cost: "the floor", min_move_cost: "the smallest change" };

/** Describes the effect of the guards. */
function sentences(guards) {
  const costs = Object.entries(NAMES)
    .filter(([key]) => typeof guards[key] === "number")
    .map(([key, name]) => `${guards[key] > 0 ? `${amount(guards[key])} more` : "nothing more"} without ${name}`);
  const said = [];
  if (costs.length > 0) said.push(`Cost of the guards: by the values that the learner uses, the next round would bring ${listed(costs)}.`);
  if (guards.kept > 0) said.push(`${plural(guards.kept, "task keeps its", "tasks keep their")} spend, because the change would be too small.`);
  said.push(guards.gave_way
    ? "The budget cannot satisfy the guards, so they are relaxed just enough."
    : "The guards are satisfied.");
  return said.join(" ");
}

export function guardsLine() {
  const element = h("p", { class: "guards", hidden: true });
  return {
    element,
    draw({ guards }) {
      element.hidden = guards === undefined || guards === null;
      if (element.hidden) return;
      element.classList.toggle("gave-way", guards.gave_way);
      write(element, sentences(guards));
    },
  };
}
