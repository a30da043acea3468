// The colours of tasks. Twelve of them are in the style sheet, one set for each scheme: each stands out from the page by 3 to 1 and is told
// apart also by those who see fewer colours. So a task has a name for its colour, and the scheme says what that is.

/** As many as the style sheet has. */
const AREAS = Array.from({ length: 12 }, (_, place) => `task-${place + 1}`);
const OTHERS = "task-other";

/** A colour of the style sheet as it is now, light or dark. For pictures, which are painted anew when that changes. */
export const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Gives colours to tasks once: in their order if there are enough, else to those that are given most. */
export function palette(tasks) {
  const ranked = tasks.length <= AREAS.length ? tasks : [...tasks].sort((a, b) => b.spend - a.spend).slice(0, AREAS.length - 1);
  const colours = new Map(ranked.map((task, place) => [task.task, AREAS[place]]));
  const key = (name) => colours.get(name) ?? OTHERS;
  return {
    /** For elements: follows the scheme by itself. */
    of: (name) => `var(--${key(name)})`,
    /** For pictures. */
    drawn: (name) => themed(key(name)),
    has: (name) => colours.has(name),
    names: [...colours.keys()],
  };
}

/** Calls back when light becomes dark or the other way round. */
export function onTheme(callback) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", callback);
  return () => dark.removeEventListener("change", callback);
}
