// Calls the API of the service. The token is kept only in this module, so a reload forgets it.

import { askToken } from "./token.js";

// The service may be below a path; this file is in the folder `dashboard` of that path.
export const BASE = new URL("..", import.meta.url).href;

let token = null;
let asking = null;

/** An error response of the service. */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The service returned status ${status}.`);
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
    throw new OfflineError("The service does not respond.");
  }
}

/** Asks for a token in one dialog, however many requests wait for it. Resolves to whether there is a new token. */
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

/** Replaces the token, for users whose token lacks a permission. The view is then loaded again. */
export async function anotherToken() {
  if (await newToken("another")) dispatchEvent(new Event("another-token"));
}

async function request(path, options = {}) {
  for (;;) {
    const used = token;
    const response = await send(path, options);
    if (response.ok || response.status === 304) return response;
    if (response.status === 401) {
      // Another request may have obtained a new token meanwhile.
      if (used === token) await newToken(used === null ? "wanted" : "refused");
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    throw new ApiError(response.status, problem);
  }
}

/** Gets the JSON at a path. */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/** Reads an event stream and calls `heard` for each part, until the stream ends. Resolves to whether there was a stream. */
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

/** Gets the JSON at a path with its tag, or null if the tag has not changed. */
export async function getIfChanged(path, tag, signal) {
  const headers = tag === null ? {} : { "If-None-Match": tag };
  const response = await request(path, { headers, signal });
  if (response.status === 304) return null;
  return { value: await response.json(), tag: response.headers.get("ETag") };
}

/** Changes the resource at a path, if its tag has not changed. */
export async function patch(path, body, tag) {
  const headers = { "Content-Type": "application/json", "If-Match": tag };
  const response = await request(path, { method: "PATCH", headers, body: JSON.stringify(body) });
  return { value: await response.json(), tag: response.headers.get("ETag") };
}

export const campaignPath = (id) => `v1/campaigns/${encodeURIComponent(id)}`;
