// Follows something on the service: asks again and again, less often while the service is away, not at all while nobody looks.

import { ApiError, campaignPath, get, getIfChanged, listen } from "./api.js";
import { announce, write } from "./dom.js";

export const PERIOD = 2000;
const LONGEST = 30_000;
/** A page of a list carries at most about this many tasks. */
const CELLS = 20_000;
/** What only time changes, such as rounds that expire, is asked for this often. */
const SLOW = 15_000;
const EVENTS_KEPT = 100;
const EVENTS_WANTED = 20;
/** Beyond so many events in one go, what lies between is left out. */
const MOST_EVENTS = 4000;
const MOST_PAGES = 40;

/** What the page does about something that went wrong: it never stops by itself. */
function word(error) {
  if (!(error instanceof ApiError)) return "no connection";
  return error.status === 403 ? "no access" : error.status === 404 ? "waiting" : "trying again";
}

/** Calls `step` again and again until the returned function is called; `failed` is told of what goes wrong, and null when all is well. */
export function repeat(step, failed, periodNow = () => PERIOD) {
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
      pulsed(word(error), "ill");
    } finally {
      isBusy = false;
      next(isWanted ? 0 : misses === 0 ? periodNow() : Math.min(LONGEST, PERIOD * 2 ** misses));
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

/**
 * Calls `changed` soon after each event of a campaign, at most once in half a period. While there is a stream, `isOn()` is true and asking
 * every few seconds is not needed; without one, or in a hidden tab, it is false.
 */
export function follow(path, changed) {
  const ending = new AbortController();
  let stream = null;
  let isOn = false;
  let timer = null;
  const heard = (part) => {
    isOn = true;
    if (timer !== null || !/^data:/mu.test(part)) return;
    timer = setTimeout(() => {
      timer = null;
      changed();
    }, PERIOD / 2);
  };
  async function run() {
    if (stream !== null || document.hidden || ending.signal.aborted) return;
    stream = new AbortController();
    await listen(`${path}/events/stream`, heard, stream.signal).catch(() => false);
    if (isOn) changed();
    isOn = false;
    stream = null;
    if (!ending.signal.aborted) setTimeout(run, SLOW);
  }
  // A browser has few connections for all its tabs.
  const seen = () => (document.hidden ? stream?.abort() : run());
  document.addEventListener("visibilitychange", seen);
  run();
  return {
    isOn: () => isOn,
    stop() {
      ending.abort();
      stream?.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

export const LISTENING_PERIOD = SLOW;

const pageOf = (tasks, most) => Math.max(1, Math.min(most, Math.floor(CELLS / Math.max(1, tasks))));

/**
 * Lists only go forward from a number. This finds the last one, or one close to it, asking for ever smaller steps. A page may have fewer
 * entries than were asked for; only the absence of a next one says that it is the last.
 */
async function findEnd(path, limit, guess, signal) {
  let low = 0;
  let high = null;
  let after = guess;
  for (;;) {
    const { events, next } = await get(`${path}?after=${after}&limit=${limit}`, signal);
    if (events.length === 0) high = after;
    else low = events.at(-1).seq;
    const isEnd = events.length > 0 && next === undefined;
    if (isEnd || (high !== null && high - low <= 1)) return low;
    after = high === null ? 2 * Math.max(after, low, 50) : Math.floor((low + high) / 2);
  }
}

/** Numbers are those of the whole store, so those of one campaign may be far apart. This finds one with some events behind it. */
async function findSome(path, limit, guess, signal) {
  const end = await findEnd(path, limit, guess, signal);
  for (let back = EVENTS_KEPT; ; back *= 4) {
    const after = Math.max(0, end - back);
    const { events, next } = await get(`${path}?after=${after}&limit=${limit}`, signal);
    if (after === 0 || next !== undefined || events.length >= EVENTS_WANTED) return after;
  }
}

/** A campaign that is followed: its state, its latest rounds, its latest events. */
export class Campaign {
  constructor(id) {
    this.path = campaignPath(id);
    this.window = 200;
    this.state = null;
    this.tag = null;
    this.whole = 0;
    this.begin();
  }

  /** Nothing is known about its history. */
  begin() {
    this.rounds = new Map();
    this.events = [];
    this.last = null;
    /** How far the history was read. */
    this.reached = 0;
    /** Whether something was left out to keep up. */
    this.hasSkipped = false;
    /** Rounds of which something came after they had expired, as far as events were read. */
    this.late = new Set();
  }

  /** Asks for what is new; false if nothing is. */
  async update(signal) {
    const isSlow = Date.now() - this.whole > SLOW;
    const changed = await getIfChanged(this.path, isSlow ? null : this.tag, signal);
    if (changed === null) return false;
    const { value } = changed;
    // Another campaign of the same name: the service has another store now.
    if (this.state !== null && this.state.created_at !== value.created_at) this.begin();
    if (isSlow) this.whole = Date.now();
    await this.moreRounds(value, isSlow, signal);
    if (!(await this.moreEvents(value, signal))) {
      await this.moreRounds(value, true, signal);
      await this.moreEvents(value, signal);
    }
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

  async moreRounds(state, isAnew, signal) {
    const shown = this.shown(state.tasks.length);
    const limit = pageOf(state.tasks.length, 1000);
    // Numbers may have gaps, so there may be more beyond than the count says; never fewer.
    const known = isAnew || this.rounds.size === 0 ? null : [...this.rounds.keys()].at(-1);
    let after = known === null ? Math.max(0, state.rounds - shown) : Math.max(known, state.rounds - shown);
    // What is shown stays until there is something in its place.
    const rounds = known === null ? new Map() : this.rounds;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const list = await get(`${this.path}/rounds?after=${after}&limit=${limit}`, signal);
      for (const round of list.rounds) rounds.set(round.round, round);
      if (list.next === undefined) break;
      after = list.next;
    }
    for (const round of rounds.keys()) {
      if (rounds.size <= shown) break;
      rounds.delete(round);
    }
    this.rounds = rounds;
    for (const round of this.late) if (!rounds.has(round)) this.late.delete(round);
  }

  /** False if it must be begun anew: the history is another one, or so far ahead that rounds must be read again too. */
  async moreEvents(state, signal) {
    const path = `${this.path}/events`;
    const limit = pageOf(state.tasks.length, 1000);
    const isFirst = this.last === null;
    // The last one known comes first again, which shows that this still is the same history.
    let after = isFirst
      ? await findSome(path, pageOf(state.tasks.length, EVENTS_KEPT), Math.max(state.rounds, this.reached), signal)
      : this.last.seq - 1;
    for (let page = 0, heard = 0; page < MOST_PAGES && heard < MOST_EVENTS; page += 1) {
      const list = await get(`${path}?after=${after}&limit=${limit}`, signal);
      if (page === 0 && !isFirst) {
        const again = list.events.shift();
        if (JSON.stringify(again) !== JSON.stringify(this.last)) {
          this.begin();
          return false;
        }
      }
      this.hear(list.events);
      heard += list.events.length;
      if (list.next === undefined) {
        if (!isFirst) this.hasSkipped = false;
        return true;
      }
      after = list.next;
    }
    // It grows faster than it can be read, wherever one begins: go on with the next request, whether there is something new then or not.
    if (isFirst) {
      this.whole = 0;
      return true;
    }
    this.events = [];
    this.last = null;
    this.hasSkipped = true;
    return false;
  }

  hear(events) {
    for (const event of events) {
      this.events.push(event);
      this.last = event;
      this.reached = event.seq;
      if (event.kind === "told") this.fill(event.round, event.results, event.late);
      if (event.kind === "corrected") this.fill(event.round, [event.to], false);
    }
    this.events = this.events.slice(-EVENTS_KEPT);
  }

  /** A round in the window gets what was told about it. */
  fill(number, results, isLate) {
    const round = this.rounds.get(number);
    if (round === undefined) return;
    if (isLate) this.late.add(number);
    for (const result of results) {
      const task = round.tasks.find((task) => task.task === result.task);
      if (task !== undefined) Object.assign(task, { completed: result.completed, reward: result.reward });
    }
    if (round.tasks.every((task) => task.completed !== undefined)) round.status = "complete";
  }
}
