// The colours of tasks: the same twelve as in reports, told apart also by those who see fewer. Everything else is in the style sheet.

const AREAS = ["#1158d7", "#d46a17", "#0a9657", "#a32c72", "#cac11c", "#5e3388", "#6bb6ff", "#f4b669", "#7fb79b", "#c082b0", "#eeedbe", "#c0d1e6"];
const OTHERS = "#9aa3ab";

export const MOST_COLOURED = AREAS.length;

/** Gives colours to tasks once: in their order if there are enough, else to those that are given most. */
export function palette(tasks) {
  const ranked = tasks.length <= AREAS.length ? tasks : [...tasks].sort((a, b) => b.spend - a.spend).slice(0, AREAS.length - 1);
  const colours = new Map(ranked.map((task, place) => [task.task, AREAS[place]]));
  return { of: (name) => colours.get(name) ?? OTHERS, has: (name) => colours.has(name), names: [...colours.keys()], others: OTHERS };
}

/** A colour of the style sheet as it is now, light or dark. */
export const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Calls back when light becomes dark or the other way round. */
export function onTheme(callback) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", callback);
  return () => dark.removeEventListener("change", callback);
}
