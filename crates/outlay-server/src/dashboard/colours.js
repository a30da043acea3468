// The colours of tasks. The style sheet has twelve for each colour scheme, with a contrast of at least 3 to 1 and distinguishable with
// colour vision deficiency. A task has the name of a colour, which the scheme resolves.

/** The names of the colours in the style sheet. */
const AREAS = Array.from({ length: 12 }, (_, place) => `task-${place + 1}`);
const OTHERS = "task-other";

/** The value of a colour in the present scheme. For charts, which are redrawn when the scheme changes. */
export const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Assigns colours to tasks: in their order if there are enough, otherwise to those with the largest spends. */
export function palette(tasks) {
  const ranked = tasks.length <= AREAS.length ? tasks : [...tasks].sort((a, b) => b.spend - a.spend).slice(0, AREAS.length - 1);
  const colours = new Map(ranked.map((task, place) => [task.task, AREAS[place]]));
  const key = (name) => colours.get(name) ?? OTHERS;
  return {
    /** For elements; follows the scheme automatically. */
    of: (name) => `var(--${key(name)})`,
    /** For charts. */
    drawn: (name) => themed(key(name)),
    has: (name) => colours.has(name),
    names: [...colours.keys()],
  };
}

/** Calls `callback` when the colour scheme changes. */
export function onTheme(callback) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", callback);
  return () => dark.removeEventListener("change", callback);
}
