// Formats numbers and times. The page is in English, so its numbers and dates are too, whatever the language of the browser.

const LANGUAGE = "en-GB";
const whole = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat(LANGUAGE, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(LANGUAGE, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const count = (number) => whole.format(number);

const isNothing = (number) => number === null || number === undefined;
const powers = (number, digits) => number.toExponential(digits).replace("e+", "e");

/** A number with few significant digits. */
export function amount(number) {
  if (isNothing(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return powers(number, 2);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return number.toLocaleString(LANGUAGE, { minimumFractionDigits: size === 0 ? 0 : Math.min(digits, 2), maximumFractionDigits: digits });
}

/** Formats the amounts of one column: the same decimals for all of them, and powers of ten where these would show zero. */
export function column(numbers) {
  const largest = Math.max(0, ...numbers.filter((number) => !isNothing(number)).map(Math.abs));
  const digits = largest >= 10_000 ? 0 : largest >= 1000 ? 1 : largest >= 10 ? 2 : largest >= 1 ? 3 : 4;
  const format = new Intl.NumberFormat(LANGUAGE, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const isFar = largest !== 0 && (largest < 1e-2 || largest >= 1e9);
  return (number) => {
    if (isNothing(number)) return "–";
    if (number === 0) return isFar || largest === 0 ? "0" : format.format(0);
    return isFar || Math.abs(number) < 0.5 * 10 ** -digits ? powers(number, 2) : format.format(number);
  };
}

/** Short labels for an axis, all in the same notation. */
export function labels(ticks) {
  const largest = Math.max(0, ...ticks.map(Math.abs));
  const [unit, sign] = largest >= 1e6 ? [1e6, " M"] : largest >= 1e4 ? [1e3, " k"] : [1, ""];
  const isFar = largest >= 1e9 || largest < 1e-3;
  return ticks.map((tick) => {
    if (tick === 0) return "0";
    // Three steps of 0.1 are not exactly 0.3.
    const exact = Number(tick.toPrecision(9));
    return isFar ? powers(exact) : `${(exact / unit).toLocaleString(LANGUAGE, { maximumFractionDigits: 6 })}${sign}`;
  });
}

/** Two significant digits below one percent, because with thousands of tasks every share is small. */
export function percent(share) {
  const number = 100 * share;
  if (number === 0 || number >= 1) return `${number.toFixed(1)} %`;
  return number < 0.001 ? "< 0.001 %" : `${Number(number.toPrecision(2))} %`;
}

export const plural = (number, word, words = `${word}s`) => `${count(number)} ${number === 1 ? word : words}`;

export function time(text) {
  const date = new Date(text);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : day.format(date);
}

/** A list in a sentence: the first few entries and the number of the others. */
export function listed(names, most = 4) {
  if (names.length <= most) return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/** Names in quotation marks, because they may contain commas. */
export const quoted = (names) => listed(names.map((name) => `“${name}”`));

/** How often a task completed in a round; undefined before it is reported. */
export const completions = ({ completed, completions: number }) => number ?? (completed === undefined ? undefined : Number(completed));

/** The scales and volumes of a round, those of the problem left out. */
export function conditions(tasks) {
  const isOwn = (task, key) => task[key] !== undefined && !(key === "scale" && task.scale === 1);
  const own = (key) => tasks.filter((task) => isOwn(task, key)).map((task) => `${key} ${amount(task[key])} for “${task.task}”`);
  return listed([...own("scale"), ...own("volume")]);
}
