// Numbers and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const count = (number) => whole.format(number);

/** Few digits, as many as tell something. */
export function amount(number) {
  if (number === null || number === undefined) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return number.toExponential(2);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return number.toLocaleString("en", { minimumFractionDigits: size === 0 ? 0 : Math.min(digits, 2), maximumFractionDigits: digits });
}

/** Amounts of one column: the same digits for all of them. */
export function column(numbers) {
  const largest = Math.max(0, ...numbers.filter((number) => number !== null && number !== undefined).map(Math.abs));
  const digits = largest >= 10_000 ? 0 : largest >= 1000 ? 1 : largest >= 10 ? 2 : largest >= 1 ? 3 : 4;
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (number) => (number === null || number === undefined ? "–" : format.format(number));
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

export const plural = (number, word, words = `${word}s`) => `${count(number)} ${number === 1 ? word : words}`;

export function time(text) {
  const date = new Date(text);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : day.format(date);
}

/** A list in a sentence: the first few, and how many more. */
export function listed(names, most = 4) {
  if (names.length <= most) return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/** Names may have commas in them. */
export const quoted = (names) => listed(names.map((name) => `“${name}”`));
