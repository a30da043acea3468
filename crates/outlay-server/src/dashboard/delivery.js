// Actual and allocated spends, if clients report them.

import { allOrFewer, h, row, section, table } from "./dom.js";
import { refresh } from "./refresh.js";
import { named } from "./split.js";
import { column, percent } from "./words.js";

const COLUMNS = [
  { name: "Task", kind: "word" },
  { name: "Spent" },
  { name: "Delivered" },
  { name: "In words", kind: "word" },
];
const SHOWN = 30;
/** A task that spends less than this share of its allocation falls short, as on the command line. */
const FULL_DELIVERY = 0.9;

export function deliveryView(colours) {
  const list = table("Reported spends, and their share of the allocated spends of the same rounds", COLUMNS, { hideCaption: true });
  const part = allOrFewer(SHOWN, () => draw(last));
  const element = section("Reported and allocated spends",
    h("p", { class: "muted" }, "Only outcomes that were reported with a spend are counted. A task that cannot spend its allocation needs a smaller max; "
      + "the rest of its budget is lost to the other tasks."),
    list.box, part.button);
  element.hidden = true;
  let last = null;

  function draw(campaign) {
    last = campaign;
    const tasks = campaign.state.tasks.filter((task) => task.spent !== undefined);
    element.hidden = tasks.length === 0;
    const share = (task) => task.delivered ?? Infinity;
    const shown = part.of(tasks.length <= SHOWN ? tasks : [...tasks].sort((a, b) => share(a) - share(b)), "tasks");
    const spent = column(shown.map((task) => task.spent));
    refresh(list.body, shown.map((task) => row(COLUMNS, [
      named(task.task, colours),
      spent(task.spent),
      task.delivered === undefined ? "–" : percent(task.delivered),
      words(task),
    ])));
  }
  return { element, draw };
}

function words({ delivered }) {
  if (delivered === undefined) return "spent without an allocation";
  return delivered < FULL_DELIVERY ? h("span", { class: "warned" }, "spends less than it gets") : "";
}
