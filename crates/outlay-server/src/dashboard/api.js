// The service's API. The token lives in this module and nowhere else: a reload forgets it.

import { askToken } from "./token.js";

// The service may be below a path; this file is in the folder `dashboard` of that path.
export const BASE = new URL("..", import.meta.url).href;

let token = null;
let asking = null;

/** A refusal, with what the service said about it. */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The service answered with ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
    this.hint = problem.hint ?? "";
  }
}

/** The service cannot be reached. */
export class OfflineError extends Error {}

async function send(path, options) {
  const headers = { ...options.headers };
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  try {
    return await fetch(BASE + path, { cache: "no-store", credentials: "omit", ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new OfflineError("The service does not answer.");
  }
}

/** One dialog at a time, however many requests wait for it. Says whether there is a new one. */
function newToken(reason) {
  asking ??= askToken(reason).then((given) => {
    asking = null;
    if (given === null) return false;
    token = given;
    dispatchEvent(new Event("token"));
    return true;
  });
  return asking;
}

/** For those whose token does not allow what they want. What is shown is to be asked for anew. */
export async function anotherToken() {
  if (await newToken("another")) dispatchEvent(new Event("another-token"));
}

async function answered(path, options = {}) {
  for (;;) {
    const used = token;
    const response = await send(path, options);
    if (response.ok || response.status === 304) return response;
    if (response.status === 401) {
      // Another request may have brought a new one meanwhile.
      if (used === token) await newToken(used === null ? "wanted" : "refused");
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    throw new ApiError(response.status, problem);
  }
}

/** What is at a path. */
export async function get(path, signal) {
  return (await answered(path, { signal })).json();
}

/** Events as they happen: calls `heard` for each part that arrives, until the stream ends. Says whether there was a stream at all. */
export async function listen(path, heard, signal) {
  const response = await send(path, { signal, headers: { Accept: "text/event-stream" } });
  if (!response.ok || response.body === null) return false;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  heard("");
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return true;
    heard(decoder.decode(value, { stream: true }));
  }
}

/** What is at a path and its tag, or null if the tag is still the right one. */
export async function getIfChanged(path, tag, signal) {
  const headers = tag === null ? {} : { "If-None-Match": tag };
  const response = await answered(path, { headers, signal });
  if (response.status === 304) return null;
  return { value: await response.json(), tag: response.headers.get("ETag") };
}

/** Changes what is at a path, if it still is what the tag says. */
export async function patch(path, body, tag) {
  const headers = { "Content-Type": "application/json", "If-Match": tag };
  const response = await answered(path, { method: "PATCH", headers, body: JSON.stringify(body) });
  return { value: await response.json(), tag: response.headers.get("ETag") };
}

export const campaignPath = (id) => `v1/campaigns/${encodeURIComponent(id)}`;
