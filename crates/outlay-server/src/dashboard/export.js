// Exports data: files are created in the browser from the API, one page at a time.

import { get } from "./api.js";
import { announce, h, section, write } from "./dom.js";
import { completions, count } from "./words.js";

const CELLS = 20_000;

export function exportView(id, campaign) {
  const said = h("p", { role: "status", class: "muted" });
  const stop = h("button", { type: "button", hidden: true, onclick: () => ending.abort() }, "Stop");
  const button = (name, file, media, make) => h("button", { type: "button", onclick: () => save(file, media, make) }, name);
  const element = section("Export",
    h("p", { class: "muted" }, "Files are created in the browser. For very long campaigns use ", h("code", {}, "outlay export"), " on the server."),
    h("div", { class: "buttons left" },
      button("Tasks as CSV", `${id}-tasks.csv`, "text/csv", async () => [taskRows(campaign.state)]),
      button("Rounds as CSV", `${id}-rounds.csv`, "text/csv", (signal) => pages("rounds", roundRows, signal, ["round,status,asked_at,task,spend,completions,reward,spent\n"])),
      button("Rounds as NDJSON", `${id}-rounds.ndjson`, "application/x-ndjson", (signal) => pages("rounds", lines, signal)),
      button("Events as NDJSON", `${id}-events.ndjson`, "application/x-ndjson", (signal) => pages("events", lines, signal)),
      stop),
    said);
  let ending = new AbortController();

  async function save(file, media, make) {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    try {
      const parts = await make(signal);
      const link = h("a", { href: URL.createObjectURL(new Blob(parts, { type: media })), download: file });
      link.click();
      // The browser has started the download by then.
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      write(said, `${file} was created.`);
    } catch (error) {
      write(said, error.name === "AbortError" ? "Stopped; nothing was saved." : `The file was not created: ${error.message}`);
    }
    stop.hidden = true;
  }

  async function pages(what, format, signal, parts = []) {
    const limit = Math.max(1, Math.min(1000, Math.floor(CELLS / campaign.state.tasks.length)));
    stop.hidden = false;
    announce("The file is being created.");
    let after = 0;
    let rows = 0;
    for (;;) {
      const list = await get(`${campaign.path}/${what}?after=${after}&limit=${limit}`, signal);
      parts.push(format(list[what]));
      rows += list[what].length;
      said.textContent = `${count(rows)} ${what} so far …`;
      if (list.next === undefined) return parts;
      after = list.next;
    }
  }
  return { element, draw() {}, leave: () => ending.abort() };
}

const lines = (entries) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");

/** A CSV cell, quoted if needed; a spreadsheet must not interpret a name as a formula. */
export function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

const line = (cells) => `${cells.map(cell).join(",")}\n`;

function taskRows(state) {
  const keys = ["task", "spend", "success", "told", "completions", "expected_completions", "reward_sum", "mean", "index", "spent", "delivered"];
  return line(keys) + state.tasks.map((task) => line(keys.map((key) => task[key]))).join("");
}

const roundRows = (rounds) => rounds.flatMap((round) => round.tasks.map((task) =>
  line([round.round, round.status, round.asked_at, task.task, task.spend, completions(task), task.reward, task.spent]))).join("");
