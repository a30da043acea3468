// Tests of the dashboard. Started by `run`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";

import * as awkward from "./awkward.mjs";
import { SIZES, launch, obstacles, open, paleTexts } from "./page.mjs";
import { PROBLEM, client, generator, makeToken, serve } from "./service.mjs";

const PATIENCE = 30_000;
/** Several polling periods of the page, in ms. */
const QUIET = 7_000;
const folder = "target/browser";
const data = `${folder}/data-${process.pid}`;
mkdirSync(data, { recursive: true });

const browser = await launch();
let service = await serve(`${data}/open`);
const { base } = service;
const api = client(base);
const random = generator(7);
const fact = (page, name) => page.locator(".facts > div").filter({ has: page.getByText(name, { exact: true }) }).locator("dd").first();
const seen = (locator) => locator.waitFor({ timeout: PATIENCE });
const reads = async (locator, text) => {
  const handle = await locator.elementHandle({ timeout: PATIENCE });
  await locator.page().waitForFunction(([element, text]) => element.textContent === text, [handle, text], { timeout: PATIENCE });
};

async function watched(name, test, options) {
  const watch = await open(browser, base, options);
  watch.page.setDefaultTimeout(PATIENCE);
  await test(watch);
  assert.deepEqual(watch.faults, [], name);
  await watch.context.close();
  console.log(`ok: ${name}`);
}

/** Presses Tab until the element with this text has the focus; the focus must always be visible. */
async function tabTo(page, text) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const { activeElement: at } = document;
      return { text: at.textContent.trim(), ring: getComputedStyle(at).outlineStyle, isBody: at === document.body };
    });
    if (!focus.isBody) assert.notEqual(focus.ring, "none", `no ring around ${focus.text}`);
    if (focus.text === text) return;
  }
  assert.fail(`the keyboard does not reach ${text}`);
}

async function firstRun({ page }) {
  await page.goto(base);
  await seen(page.getByRole("heading", { name: "No campaigns yet" }));
  await page.screenshot({ path: `${folder}/empty.png` });
  const command = await page.locator("pre").textContent();
  execFileSync("bash", ["-c", `set -e; ${command} --fail --silent --show-error -o /dev/null`], { stdio: "inherit" });
  await seen(page.getByRole("link", { name: "first", exact: true }));
  assert.deepEqual(await obstacles(page), []);
}

async function keyboard({ page }) {
  await page.goto(base);
  await seen(page.getByRole("link", { name: "first", exact: true }));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await tabTo(page, "first");
  await page.keyboard.press("Enter");
  await seen(page.getByRole("heading", { level: 1, name: "first" }));
  assert.equal(await page.title(), "first · outlay");
  await seen(page.getByText("No rounds yet.").first());
  await tabTo(page, "Pause");
  await page.keyboard.press("Enter");
  await seen(page.locator(".title .badge.paused"));
  assert.equal((await api.get("/v1/campaigns/first")).status, "paused");
  assert.match(await page.locator("#announce").textContent(), /paused/);
  // The pressed button is gone, but the focus has moved on.
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Open again");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await seen(page.getByRole("dialog"));
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal((await api.get("/v1/campaigns/first")).status, "paused");
  // Another client opens it: the page follows.
  await api.setStatus("first", "open");
  await seen(page.locator(".title .badge.open"));
}

async function follows({ page, answers }) {
  await api.put("/v1/campaigns/trial", { problem: PROBLEM, expiry_seconds: 3600 });
  await page.goto(`${base}/#/campaigns/trial`);
  await reads(fact(page, "Rounds"), "0");
  await api.play("trial", 120, random);
  await reads(fact(page, "Rounds"), "120");
  // Some outcomes are never reported.
  await api.play("trial", 80, random, () => random() > 0.02);
  await reads(fact(page, "Rounds"), "200");
  const state = await api.get("/v1/campaigns/trial");
  await reads(fact(page, "Open rounds"), String(state.open_rounds));
  assert.ok(state.open_rounds > 0);
  const rows = page.getByRole("region", { name: /split of the next round/ }).locator("tbody tr");
  assert.equal(await rows.count(), state.tasks.length);
  for (const [place, task] of state.tasks.entries()) {
    const cells = await rows.nth(place).locator("th, td").allTextContents();
    assert.equal(cells[0], task.task);
    assert.equal(cells[2], `${task.spend.toFixed(1)} %`);
    assert.equal(cells[5], String(task.completions));
    assert.ok(Math.abs(Number(cells[7]) - task.mean) < 1e-3, `${cells[7]} for ${task.mean}`);
  }
  assert.equal(await page.locator(".notice.warn").count(), 0, await page.locator(".notice.warn").allTextContents());
  // Every chart has a table.
  assert.equal(await page.locator("canvas").count(), 2 + state.tasks.length);
  for (const details of await page.locator("details").all()) {
    await details.locator("summary").click();
    await seen(details.locator("tbody tr").first());
  }
  assert.deepEqual(await obstacles(page), []);
  assert.match(await page.locator(".events li").first().textContent(), /Round (199|200)/);
  // Nothing changes any more: the page listens to the stream of events and hardly polls.
  const before = answers.length;
  await page.waitForTimeout(QUIET);
  const states = answers.slice(before).filter(({ path }) => path === "/v1/campaigns/trial");
  assert.ok(states.length <= 1, `${states.length} requests for the state within ${QUIET} ms`);
  await exports(page);
  await contested(page);
}

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
  return readFileSync(await download.path(), "utf8").trimEnd().split("\n");
}

async function exports(page) {
  const tasks = PROBLEM.task.length;
  const csv = await saved(page, "Rounds as CSV");
  assert.equal(csv.length, 1 + 200 * tasks);
  assert.ok(csv.some((line) => line.includes('"social, paid"')) && csv.some((line) => line.includes("'=radio")));
  const rounds = (await saved(page, "Rounds as NDJSON")).map((line) => JSON.parse(line));
  assert.deepEqual(rounds, (await api.get("/v1/campaigns/trial/rounds?limit=1000")).rounds);
  assert.equal((await saved(page, "Tasks as CSV")).length, 1 + tasks);
  const events = (await saved(page, "Events as NDJSON")).map((line) => JSON.parse(line));
  assert.equal(events[0].kind, "created");
  assert.equal(events.filter((event) => event.kind === "asked").length, 200);
}

/** The page knows an outdated version; it must not overwrite a change by another client. */
async function contested(page) {
  const path = (url) => url.pathname === "/v1/campaigns/trial";
  await page.route(path, (route) => (route.request().method() === "GET" ? route.fulfill({ status: 304 }) : route.continue()));
  await api.setStatus("trial", "paused");
  contestedWatch.forgive(/412/);
  await page.getByRole("button", { name: "Pause" }).click();
  await seen(page.getByText("The campaign was changed by another client."));
  await page.unroute(path);
  await seen(page.locator(".title .badge.paused"));
  await api.setStatus("trial", "open");
}
let contestedWatch = null;

async function onlyGood({ page }) {
  await api.put("/v1/campaigns/rosy", { problem: PROBLEM });
  await api.play("rosy", 60, random, (result) => result.completed);
  await page.goto(`${base}/#/campaigns/rosy`);
  await seen(page.locator(".notice.warn"));
  assert.match(await page.locator(".notice.warn").textContent(), /clients report only good outcomes/);
  assert.match(await page.locator(".warned").first().textContent(), /far more than expected/);
  await page.screenshot({ path: `${folder}/warning.png` });
}

/** Counts with actual spends: completions against predictions, spends against allocations. */
async function counts({ page }) {
  const task = (name, scale) => ({ name, volume: 40, curve: { family: "exponential", scale } });
  await api.put("/v1/campaigns/daily", { problem: { budget: 100, reward_max: 50, task: [task("search", 30), task("social", 45)] } });
  for (let round = 1; round <= 3; round += 1) {
    const asked = await api.post("/v1/campaigns/daily/rounds", {});
    const results = asked.tasks.map(({ task, spend }, place) => ({ task, completions: 20 + round, reward: 300, spend: spend * [0.5, 1][place] }));
    await api.put(`/v1/campaigns/daily/rounds/${round}/feedback`, { results });
  }
  await page.goto(`${base}/#/campaigns/daily`);
  const cells = async (name) => (await page.getByRole("region", { name }).locator("tbody tr").first().locator("td, th").allTextContents());
  await seen(page.getByRole("region", { name: /Reported spends/ }).getByText("spends less than it gets"));
  assert.equal((await cells(/Reported spends/))[2], "50.0 %");
  assert.equal((await cells(/Reported completions/))[2], "66");
  await seen(page.getByText("“search” completed 23 times and brought 300", { exact: false }));
  await page.screenshot({ path: `${folder}/counts.png`, fullPage: true });
}

async function manyCampaigns({ page }) {
  for (let number = 10; number < 40; number += 1) await api.put(`/v1/campaigns/page-${number}`, { problem: PROBLEM });
  await page.goto(base);
  await seen(page.getByRole("link", { name: "page-10" }));
  await page.getByRole("button", { name: "Next" }).click();
  await seen(page.getByRole("link", { name: "trial" }));
  assert.equal(await page.getByRole("link", { name: "page-10" }).count(), 0);
  await page.getByRole("button", { name: "Previous" }).click();
  await seen(page.getByRole("link", { name: "page-10" }));
  await page.goto(`${base}/#/campaigns/nobody`);
}

async function picture(name, { page }) {
  await page.goto(`${base}/#/campaigns/trial`);
  await seen(page.locator("canvas").nth(5));
  await page.waitForTimeout(500);
  assert.deepEqual(await paleTexts(page), []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name} is ${wide} too wide`);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(ground, name === "dark" ? "rgb(18, 23, 29)" : "rgb(255, 255, 255)");
  await page.screenshot({ path: `${folder}/campaign-${name}.png`, fullPage: true });
  await page.goto(`${base}/#/`);
  await seen(page.getByRole("link", { name: "first", exact: true }));
  assert.deepEqual(await paleTexts(page), []);
  await page.screenshot({ path: `${folder}/campaigns-${name}.png` });
}

async function comesBack({ page, forgive }) {
  await page.goto(`${base}/#/campaigns/trial`);
  await reads(page.locator("#pulse"), "live");
  forgive(/ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED_ENCODING|Failed to fetch/);
  await service.kill();
  await seen(page.locator(".notice.ill").getByText("The service does not respond."));
  await reads(page.locator("#pulse"), "no connection");
  await page.screenshot({ path: `${folder}/away.png` });
  service = await serve(`${data}/open`, new URL(base).host);
  await reads(page.locator("#pulse"), "live");
  assert.equal(await page.locator(".notice.ill").count(), 0);
  await reads(fact(page, "Rounds"), "200");
}

async function missing({ page, forgive }) {
  forgive(/404/);
  await page.goto(`${base}/#/campaigns/later`);
  await seen(page.getByText("There is no campaign named later."));
  await api.put("/v1/campaigns/later", { problem: PROBLEM });
  await reads(fact(page, "Rounds"), "0");
}

/** Checks the test itself: a page that violates the policy must be detected. */
async function policyHolds() {
  const watch = await open(browser, base);
  await watch.page.goto(base);
  await watch.page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
  });
  await watch.page.waitForTimeout(300);
  assert.equal(await watch.page.evaluate(() => window.ran), undefined);
  assert.ok(watch.faults.some((fault) => fault.startsWith("policy: script-src")), watch.faults.join());
  await watch.context.close();
  console.log("ok: the policy stops inline scripts, and this test would detect one");
}

async function tokens() {
  const place = `${data}/guarded`;
  const master = makeToken(place, ["read", "decide", "report", "admin"]);
  const token = makeToken(place, ["read"]);
  const guarded = await serve(place);
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${master}` };
  const made = await fetch(`${guarded.base}/v1/campaigns/kept`, { method: "PUT", body: JSON.stringify({ problem: PROBLEM }), headers });
  assert.equal(made.status, 201);
  const watch = await open(browser, guarded.base);
  const { page } = watch;
  page.setDefaultTimeout(PATIENCE);
  watch.forgive(/401|403/);
  await page.goto(guarded.base);
  const field = page.getByRole("textbox", { name: "Token" });
  await field.fill("outlay_wrong_wrong");
  await page.screenshot({ path: `${folder}/token.png` });
  await page.keyboard.press("Enter");
  await seen(page.getByText("The service does not accept this token"));
  await field.fill(token);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "kept" }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  await seen(page.locator(".notice.ill"));
  // It stays while the page continues to update.
  await page.waitForTimeout(2500);
  await seen(page.locator(".notice.ill"));
  await seen(page.locator(".title .badge.open"));
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
  assert.equal(kept, JSON.stringify([{}, {}, "", `${guarded.base}/#/campaigns/kept`]));
  await page.reload();
  await seen(field);
  assert.deepEqual(watch.faults, []);
  await watch.context.close();
  await guarded.stop();
  console.log("ok: a token is requested, limits the page to its scopes, and is not stored");
}

/** Behind a proxy that shares its host among services: all requests must stay below the path. */
async function belowPath() {
  const below = await serve(`${data}/below`, "127.0.0.1:0", ["--prefix", "/tools/outlay"]);
  assert.match(below.base, /\/tools\/outlay$/);
  const watch = await open(browser, below.base);
  const { page } = watch;
  await page.goto(below.base);
  await seen(page.getByRole("heading", { name: "No campaigns yet" }));
  const command = await page.locator("pre").textContent();
  execFileSync("bash", ["-c", `set -e; ${command} --fail --silent --show-error -o /dev/null`], { stdio: "inherit" });
  await page.getByRole("link", { name: "first", exact: true }).click({ timeout: PATIENCE });
  await seen(page.getByRole("heading", { level: 1, name: "first" }));
  await page.getByRole("button", { name: "Pause" }).click();
  await seen(page.locator(".title .badge.paused"));
  assert.equal((await fetch(new URL(await page.getByRole("link", { name: "API description" }).getAttribute("href"), page.url()))).status, 200);
  assert.deepEqual(watch.faults, []);
  await watch.context.close();
  await below.stop();
  console.log("ok: below a path");
}

let code = 0;
try {
  await watched("the first run shows a command that works", firstRun);
  await watched("the keyboard reaches everything", keyboard);
  await watched("the page follows 200 rounds", (watch) => {
    contestedWatch = watch;
    return follows(watch);
  });
  await watched("reporting only good outcomes causes a warning", onlyGood);
  await watched("counts and actual spends are shown", counts);
  await watched("lists have pages", async (watch) => {
    watch.forgive(/404/);
    await manyCampaigns(watch);
  });
  for (const [name, options] of Object.entries(SIZES)) await watched(`in ${name}`, (watch) => picture(name, watch), options);
  await watched("a campaign that does not exist yet", missing);
  await watched("the service restarts", comesBack);
  await belowPath();
  await policyHolds();
  await tokens();
  await awkward.all(browser, data);
} catch (error) {
  console.error(error);
  code = 1;
} finally {
  await browser.close();
  await service.stop();
  rmSync(data, { recursive: true, force: true });
}
process.exit(code);
