// Follows a resource of the service: polls it, less often while the service is unavailable and not at all in a hidden tab.

import { ApiError, campaignPath, get, getIfChanged, listen } from "./api.js";
import { announce, write } from "./dom.js";
import { completions } from "./words.js";

export const PERIOD = 2000;
const LONGEST = 30_000;
/** A page of a list contains at most about this many tasks. */
const CELLS = 20_000;
/** Interval for changes by time alone, such as the expiry of rounds. */
const SLOW = 15_000;
const EVENTS_KEPT = 100;
const EVENTS_WANTED = 20;
/** If more events than this arrive at once, some are skipped. */
const MOST_EVENTS = 4000;
const MOST_PAGES = 40;

/** The state of the connection after an error. The page always keeps trying. */
function word(error) {
  if (!(error instanceof ApiError)) return "no connection";
  return error.status === 403 ? "no access" : error.status === 404 ? "waiting" : "trying again";
}

/** Calls `step` repeatedly until `stop` is called. Calls `failed` with each error, and with null after a success. */
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
      if (misses > 0) announce("The service responds again.");
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
 * Calls `changed` soon after each event of a campaign, at most once per half a period. While there is a stream, `isOn()` is true and
 * frequent polling is not needed; without one, or in a hidden tab, it is false.
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
  // A browser limits the connections of all its tabs together.
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
 * Lists can only be read forwards from a number. This finds the last number, or one close to it, by bisection. A page may have fewer
 * entries than requested; it is the last one only if it has no `next`.
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

/** Event numbers are those of the whole store, so those of one campaign may be far apart. This finds a number followed by some events. */
async function findSome(path, limit, guess, signal) {
  const end = await findEnd(path, limit, guess, signal);
  for (let back = EVENTS_KEPT; ; back *= 4) {
    const after = Math.max(0, end - back);
    const { events, next } = await get(`${path}?after=${after}&limit=${limit}`, signal);
    if (after === 0 || next !== undefined || events.length >= EVENTS_WANTED) return after;
  }
}

/** A campaign with its state, its latest rounds and its latest events. */
export class Campaign {
  constructor(id) {
    this.path = campaignPath(id);
    this.window = 200;
    this.state = null;
    this.tag = null;
    this.whole = 0;
    this.begin();
  }

  /** Forgets rounds and events. */
  begin() {
    this.rounds = new Map();
    this.events = [];
    this.last = null;
    /** The number of the last event read. */
    this.reached = 0;
    /** Whether events were skipped to keep up. */
    this.hasSkipped = false;
    /** Rounds with outcomes after their expiry, as far as events were read. */
    this.late = new Set();
  }

  /** Reads changes; false if there are none. */
  async update(signal) {
    const isSlow = Date.now() - this.whole > SLOW;
    const changed = await getIfChanged(this.path, isSlow ? null : this.tag, signal);
    if (changed === null) return false;
    const { value } = changed;
    // Another campaign of the same name: the service uses another store now.
    if (this.state !== null && this.state.created_at !== value.created_at) this.begin();
    if (isSlow) this.whole = Date.now();
    await this.moreRounds(value, isSlow, signal);
    if (!(await this.moreEvents(value, signal))) {
      await this.moreRounds(value, true, signal);
      await this.moreEvents(value, signal);
    }
    // The tag is taken last: if a request failed, everything is requested again.
    this.take(changed);
    return true;
  }

  take({ value, tag }) {
    this.state = value;
    this.tag = tag;
  }

  /** Makes the next update read everything again. */
  forget() {
    this.tag = null;
    this.whole = 0;
  }

  /** The number of rounds shown; fewer with many tasks. */
  shown(tasks) {
    return pageOf(tasks, this.window);
  }

  async moreRounds(state, isAnew, signal) {
    const shown = this.shown(state.tasks.length);
    const limit = pageOf(state.tasks.length, 1000);
    // Numbers may have gaps, so there may be more rounds after this one than the count suggests, but never fewer.
    const known = isAnew || this.rounds.size === 0 ? null : [...this.rounds.keys()].at(-1);
    let after = known === null ? Math.max(0, state.rounds - shown) : Math.max(known, state.rounds - shown);
    // The old rounds stay visible until the new ones are loaded.
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

  /** False if rounds must be read again too: the store was replaced, or events were skipped. */
  async moreEvents(state, signal) {
    const path = `${this.path}/events`;
    const limit = pageOf(state.tasks.length, 1000);
    const isFirst = this.last === null;
    // The last known event is read again, to check that the history is still the same.
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
    // Events arrive faster than they can be read: continue with the next update, even if nothing has changed then.
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

  /** Adds reported outcomes to a round in the window. */
  fill(number, results, isLate) {
    const round = this.rounds.get(number);
    if (round === undefined) return;
    if (isLate) this.late.add(number);
    for (const result of results) {
      const task = round.tasks.find((task) => task.task === result.task);
      if (task === undefined) continue;
      Object.assign(task, { completed: result.completed, completions: result.completions, reward: result.reward, spent: result.spend });
    }
    if (round.tasks.every((task) => completions(task) !== undefined)) round.status = "complete";
  }
}
