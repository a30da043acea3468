// Starts a real service and acts as its client.

import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const outlay = process.env.OUTLAY;
/** Running services, killed when the test ends for any reason. */
const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** Starts `outlay serve` on a folder; resolves when it has printed its address. */
export async function serve(folder, listen = "127.0.0.1:0", more = []) {
  const child = spawn(outlay, ["serve", "--data", folder, "--listen", listen, "--quiet", "--log", "warn", ...more], { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  ended.then(() => running.delete(child));
  const address = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve)),
    ended.then((code) => Promise.reject(new Error(`outlay serve ended with ${code}`))),
  ]);
  const end = async (signal) => {
    child.kill(signal);
    return ended;
  };
  return { base: address, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

/** Creates a token while the service is not running. */
export function makeToken(folder, scopes, campaign) {
  const more = campaign === undefined ? [] : ["--campaign", campaign];
  const given = ["token", "create", "--data", folder, ...scopes.flatMap((scope) => ["--scope", scope]), ...more];
  const text = execFileSync(outlay, given, { encoding: "utf8" });
  return text.match(/outlay_[A-Za-z0-9]+_[A-Za-z0-9]+/)[0];
}

export function client(base) {
  async function call(method, path, body, headers = {}) {
    const response = await fetch(base + path, { method, body: body && JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return { value: await response.json(), tag: response.headers.get("etag") };
  }
  const get = async (path) => (await call("GET", path)).value;
  return {
    get,
    put: (path, body) => call("PUT", path, body),
    post: async (path, body) => (await call("POST", path, body)).value,
    async setStatus(id, status) {
      const { tag } = await call("GET", `/v1/campaigns/${id}`);
      return call("PATCH", `/v1/campaigns/${id}`, { status }, { "If-Match": tag });
    },
    /** Plays rounds; reports the outcomes selected by `tells`. Success follows the curves of TASKS. */
    async play(id, rounds, random, tells = () => true, most = 1) {
      for (let round = 0; round < rounds; round += 1) {
        const asked = (await call("POST", `/v1/campaigns/${id}/rounds`, {})).value;
        const results = asked.tasks.map(({ task, spend }) => {
          const { scale, worth } = TASKS.find((one) => one.name === task) ?? { scale: 50, worth: 0.5 * most };
          const completed = random() < 1 - Math.exp(-spend / scale);
          return completed ? { task, completed, reward: worth * (0.8 + 0.4 * random()) } : { task, completed };
        }).filter(tells);
        if (results.length > 0) await call("PUT", `/v1/campaigns/${id}/rounds/${asked.rounds[0]}/feedback`, { results });
      }
    },
  };
}

const TASKS = [
  { name: "search", scale: 30, worth: 0.7 },
  { name: "social, paid", scale: 45, worth: 0.5 },
  { name: "=radio", scale: 60, worth: 0.4 },
  { name: "<b>print</b>", scale: 90, worth: 0.2 },
];

export const PROBLEM = { budget: 100, task: TASKS.map(({ name, scale }) => ({ name, curve: { family: "exponential", scale } })) };

/** Pseudorandom numbers with a fixed seed. */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
