// Follows something on the service: asks again and again, less often while the service is away, not at all while nobody looks.

import { ApiError, campaignPath, get, getIfChanged } from "./api.js";
import { announce, write } from "./dom.js";

const PERIOD = 2000;
const LONGEST = 30_000;
/** A page of a list carries at most about this many tasks. */
const CELLS = 20_000;
/** What only time changes, such as rounds that expire, is asked for this often. */
const SLOW = 15_000;
const EVENTS_KEPT = 100;
const MOST_PAGES = 40;

/** Calls `step` again and again until the returned function is called; `failed` is told of what goes wrong, and null when all is well. */
export function repeat(step, failed, period = PERIOD) {
  const pulse = document.getElementById("pulse");
  const ending = new AbortController();
  let timer = null;
  let misses = 0;
  let isBusy = false;
  let isWanted = false;
  const next = (delay) => {
    clearTimeout(timer);
    if (!ending.signal.aborted && !document.hidden) timer = setTimeout(run, delay);
  };
  const pulsed = (word, kind) => {
    write(pulse, word);
    pulse.dataset.kind = kind;
  };
  async function run() {
    if (isBusy) return;
    isBusy = true;
    isWanted = false;
    try {
      await step(ending.signal);
      if (misses > 0) announce("The service answers again.");
      misses = 0;
      failed(null);
      pulsed("live", "well");
    } catch (error) {
      if (ending.signal.aborted) return;
      if (misses === 0) announce(error.message);
      misses += 1;
      failed(error);
      pulsed(error instanceof ApiError ? "stopped" : "no connection", "ill");
    } finally {
      isBusy = false;
      next(isWanted ? 0 : misses === 0 ? period : Math.min(LONGEST, period * 2 ** misses));
    }
  }
  const seen = () => next(0);
  document.addEventListener("visibilitychange", seen);
  run();
  return {
    now() {
      isWanted = true;
      next(0);
    },
    stop() {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
      pulsed("", "");
    },
  };
}

const pageOf = (tasks, most) => Math.max(1, Math.min(most, Math.floor(CELLS / Math.max(1, tasks))));

/** Lists only go forward from a number. This finds one from which the end is near, asking for ever smaller steps. */
async function findEnd(path, limit, guess, signal) {
  let low = 0;
  let high = null;
  let after = guess;
  let latest = [];
  for (;;) {
    const { events } = await get(`${path}?after=${after}&limit=${limit}`, signal);
    if (events.length === 0) high = after;
    else latest = events;
    if (events.length > 0 && events.length < limit) return events;
    low = latest.at(-1)?.seq ?? 0;
    if (high !== null && high - low <= 1) return latest;
    after = high === null ? Math.max(2 * after, low) + limit : Math.floor((low + high) / 2);
  }
}

/** A campaign that is followed: its state, its latest rounds, its latest events. */
export class Campaign {
  constructor(id) {
    this.path = campaignPath(id);
    this.window = 200;
    this.state = null;
    this.tag = null;
    this.rounds = new Map();
    this.events = [];
    this.lastEvent = null;
    this.whole = 0;
  }

  /** Asks for what is new; false if nothing is. */
  async update(signal) {
    const isSlow = Date.now() - this.whole > SLOW;
    const changed = await getIfChanged(this.path, isSlow ? null : this.tag, signal);
    if (changed === null) return false;
    if (isSlow) {
      this.rounds.clear();
      this.whole = Date.now();
    }
    await this.moreRounds(changed.value, signal);
    await this.moreEvents(changed.value, signal);
    // Only now: if something was refused on the way, all of it is asked for again.
    this.take(changed);
    return true;
  }

  take({ value, tag }) {
    this.state = value;
    this.tag = tag;
  }

  /** Everything is to be asked for anew. */
  forget() {
    this.tag = null;
    this.whole = 0;
  }

  /** The window that a campaign of many tasks can show. */
  shown(tasks) {
    return pageOf(tasks, this.window);
  }

  async moreRounds(state, signal) {
    const shown = this.shown(state.tasks.length);
    const limit = pageOf(state.tasks.length, 1000);
    // Numbers may have gaps, so there may be more beyond than the count says; never fewer.
    let after = this.rounds.size > 0 ? [...this.rounds.keys()].at(-1) : Math.max(0, state.rounds - shown);
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const list = await get(`${this.path}/rounds?after=${after}&limit=${limit}`, signal);
      for (const round of list.rounds) this.rounds.set(round.round, round);
      if (list.next === undefined) break;
      after = list.next;
    }
    for (const round of this.rounds.keys()) {
      if (this.rounds.size <= shown) break;
      this.rounds.delete(round);
    }
  }

  async moreEvents(state, signal) {
    const path = `${this.path}/events`;
    const limit = pageOf(state.tasks.length, EVENTS_KEPT);
    if (this.lastEvent === null) {
      this.lastEvent = 0;
      this.hear(await findEnd(path, limit, state.rounds, signal));
      // The end may be a single event: show some of what went before it.
      const before = await get(`${path}?after=${Math.max(0, this.lastEvent - limit)}&limit=${limit}`, signal);
      this.events = [];
      this.hear(before.events);
    }
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const list = await get(`${path}?after=${this.lastEvent}&limit=${limit}`, signal);
      this.hear(list.events);
      if (list.next === undefined) break;
    }
  }

  hear(events) {
    for (const event of events) {
      this.events.push(event);
      this.lastEvent = Math.max(this.lastEvent, event.seq);
      if (event.kind === "told") this.fill(event.round, event.results);
      if (event.kind === "corrected") this.fill(event.round, [event.to]);
    }
    this.events = this.events.slice(-EVENTS_KEPT);
  }

  /** A round in the window gets what was told about it. */
  fill(number, results) {
    const round = this.rounds.get(number);
    if (round === undefined) return;
    for (const result of results) {
      const task = round.tasks.find((task) => task.task === result.task);
      if (task !== undefined) Object.assign(task, { completed: result.completed, reward: result.reward });
    }
    if (round.tasks.every((task) => task.completed !== undefined)) round.status = "complete";
  }
}
