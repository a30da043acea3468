// Unusual cases: long names, tiny and huge numbers, tokens without access, replaced stores.

import assert from "node:assert/strict";

import { SIZES, open } from "./page.mjs";
import { PROBLEM, client, generator, makeToken, serve } from "./service.mjs";

const PATIENCE = 30_000;
const PHONE = { ...SIZES.phone, viewport: { width: 375, height: 812 } };
const random = generator(11);
const seen = (locator) => locator.waitFor({ timeout: PATIENCE });
/** Makes the page poll at once, as when a user returns to its tab. */
const askAgain = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
const focused = (page) => page.evaluate(() => document.activeElement.textContent);
const problem = (names, budget = 100, more = {}) => ({
  budget, ...more, task: names.map((name) => ({ name, curve: { family: "exponential", scale: budget / 2 } })),
});
const numbered = (many) => Array.from({ length: many }, (_, place) => `task ${place + 1}`);

export async function all(browser, data) {
  const service = await serve(`${data}/awkward`);
  const { base } = service;
  const api = client(base);
  const watched = async (name, test, options, forgiven) => {
    const watch = await open(browser, base, options);
    watch.page.setDefaultTimeout(PATIENCE);
    if (forgiven) watch.forgive(forgiven);
    await test({ ...watch, base, api });
    assert.deepEqual(watch.faults, [], name);
    await watch.context.close();
    console.log(`ok: ${name}`);
  };
  await watched("long names stay within a phone", longNames, PHONE);
  await watched("every axis can be read, in any language", axes, { ...SIZES.light, locale: "de-DE" });
  await watched("rounds are counted in whole numbers", wholeRounds);
  for (const scheme of ["light", "dark"]) await watched(`tasks stand out in ${scheme}`, standOut, SIZES[scheme]);
  await watched("thousands of tasks can be read, in less than a megabyte", manyTasks);
  await watched("a single outcome is too early to judge", tooEarly);
  await watched("old open rounds are mentioned", oldRounds);
  await watched("late outcomes are marked", lateRounds);
  await watched("guards say what they cost", guards);
  await watched("short pages of events are read to the end", shortPages);
  await watched("a page that falls behind reports it and catches up", fallsBehind);
  await watched("selected text stays selected", marked);
  await watched("a dialog closes with its page", dialogCloses);
  await watched("back leads to the same page of the list", sameListPage);
  await watched("the focus stays after a button is pressed", focusStays);
  await service.stop();
  await helpStays(browser, `${data}/fresh`);
  await anotherStore(browser, data);
  await narrowTokens(browser, `${data}/narrow`);
}

async function show({ page, base }, id) {
  await page.goto(`${base}/#/campaigns/${id}`);
  await seen(page.locator(".grid canvas").first());
}

async function longNames(watch) {
  const { page, api } = watch;
  const names = ["brand_search_exact_match_uk_mobile_2026_q4_retargeting", "x".repeat(200), "words and words ".repeat(12).trim()];
  await api.put("/v1/campaigns/long", { problem: problem(names) });
  await api.play("long", 8, random);
  await show(watch, "long");
  await page.waitForTimeout(300);
  for (const details of await page.locator("details").all()) await details.locator("summary").click();
  const wide = await page.evaluate(() => {
    const beyond = [...document.querySelectorAll("main *")].filter((element) => element.checkVisibility() && !element.closest(".scroll, .hidden-text, .uplot")
      && (element.getBoundingClientRect().right > innerWidth + 1 || (getComputedStyle(element).display !== "inline" && element.scrollWidth > element.clientWidth + 1)));
    return [document.documentElement.scrollWidth - innerWidth, beyond.map((element) => `${element.tagName} ${element.textContent.slice(0, 30)}`)];
  });
  assert.deepEqual(wide, [0, []]);
  const heights = await page.locator(".legend .value").evaluateAll((values) => values.map((value) => value.getClientRects().length));
  assert.deepEqual(new Set(heights), new Set([1]), "a share is broken over lines");
}

/** Records the labels drawn into canvases, with their extents. */
const noteLabels = (page) => page.addInitScript(() => {
  window.labels = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { width } = this.measureText(text);
    const from = this.getTransform().e + x - { right: width, end: width, center: width / 2 }[this.textAlign] || 0;
    // Labels below a chart have a top baseline; the name of an axis may have any width.
    const canvas = [...document.querySelectorAll("canvas")].indexOf(this.canvas);
    const isBelow = this.textBaseline === "top";
    if (text !== "round") window.labels.push({ text, from, to: from + width, wide: this.canvas.width, isBelow, canvas });
    return write.apply(this, arguments);
  };
});

async function axes(watch) {
  const { page, api } = watch;
  await noteLabels(page);
  const cases = { tiny: [1e-6, {}], huge: [1e12, {}], plain: [100, {}], dear: [2500, { reward_max: 5e6 }] };
  for (const [id, [budget, more]] of Object.entries(cases)) {
    await api.put(`/v1/campaigns/${id}`, { problem: problem(numbered(3), budget, more) });
    await api.play(id, 12, random, undefined, more.reward_max);
    await show(watch, id);
    await page.waitForTimeout(300);
    const labels = await page.evaluate(() => window.labels.splice(0));
    assert.ok(labels.length > 20);
    for (const { text, from, to, wide } of labels) assert.ok(from >= -0.5 && to <= wide + 0.5, `${id}: ${text} is cut (${from} to ${to} of ${wide})`);
    for (let canvas = 0; canvas < 5; canvas += 1) {
      const below = labels.filter((label) => label.canvas === canvas && label.isBelow).sort((a, b) => a.from - b.from);
      // A chart may have been drawn twice; equal labels then have the same place.
      const once = below.filter((label, place) => label.from !== below[place - 1]?.from);
      assert.ok(once.length > 1, `${id}: ${canvas}`);
      assert.equal(new Set(once.map(({ text }) => text)).size, once.length, `${id}: ${once.map(({ text }) => text)}`);
      once.slice(1).forEach((label, place) => assert.ok(label.from > once[place].to + 2, `${id}: ${once[place].text} runs into ${label.text}`));
    }
    // The page is in English: a point is never a thousands separator.
    for (const { text } of labels) assert.doesNotMatch(text, /^\d\.\d00$|,\d\b(?!\d\d)/, `${id}: ${text}`);
    const numbers = await page.getByRole("region", { name: /split of the next round/ }).locator("tbody td:nth-child(4)").allTextContents();
    for (const number of numbers) assert.match(number, /[1-9]/, `${id}: ${number}`);
  }
}

/** A campaign with 5,000 tasks, one of which is never reported. */
async function manyTasks(watch) {
  const { page, api } = watch;
  const budget = 10_000;
  const tasks = numbered(5000).map((name, place) => ({ name, curve: { family: "exponential", scale: 1 + (place % 7) } }));
  await api.put("/v1/campaigns/many", { problem: { budget, task: tasks } });
  await api.play("many", 6, random, ({ task }) => task !== "task 1");
  let bytes = 0;
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
  await show(watch, "many");
  await seen(page.locator(".grid canvas").nth(11));
  await page.waitForTimeout(500);
  assert.ok(bytes > 10_000 && bytes < 1_000_000, `the first view has ${bytes} bytes`);
  console.log(`    first view: ${Math.round(bytes / 1000)} kB`);
  await page.screenshot({ path: "target/browser/many.png", fullPage: true });
  const shares = await page.getByRole("region", { name: /split of the next round/ }).locator("tbody td:nth-child(3)").allTextContents();
  for (const share of shares) assert.match(share, /[1-9]/, `${share} says nothing`);
  // The point of each curve lies within its chart, and on the curve.
  const state = await api.get("/v1/campaigns/many");
  const given = [...state.tasks].sort((a, b) => b.spend - a.spend).slice(0, 12);
  const colours = await page.locator(".grid canvas").first().evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const [red, green, blue] = getComputedStyle(document.documentElement).getPropertyValue("--point").match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
    const columns = [];
    for (let place = 0; place < data.length; place += 4) {
      if (data[place] === red && data[place + 1] === green && data[place + 2] === blue) columns.push((place / 4) % canvas.width / canvas.width);
    }
    return [Math.min(...columns), Math.max(...columns)];
  });
  assert.ok(colours[0] > 0.25 && colours[1] < 0.75, `the point is at ${colours} of the width; it has ${given[0].spend}`);
  // The reward of incomplete rounds is drawn too.
  await seen(page.getByText("an incomplete round, as far as reported"));
  const gain = await page.locator(".facts > div").filter({ hasText: "Reward per round" }).locator("dd").first().textContent();
  assert.match(gain, /[1-9]/);
}

async function wholeRounds(watch) {
  const { page, api } = watch;
  await noteLabels(page);
  for (const rounds of [1, 3]) {
    const id = `of-${rounds}`;
    await api.put(`/v1/campaigns/${id}`, { problem: problem(numbered(2)) });
    await api.play(id, rounds, random);
    await show(watch, id);
    await page.waitForTimeout(300);
    const labels = (await page.evaluate(() => window.labels.splice(0))).filter(({ isBelow, canvas }) => isBelow && canvas < 2);
    const wanted = new Set(["", ...Array.from({ length: rounds }, (_, place) => String(place + 1))]);
    assert.ok(labels.some(({ text }) => text === "1"));
    for (const { text } of labels) assert.ok(wanted.has(text), `round ${text} of ${rounds}`);
    // Even a single round is an area: the middle of the chart has a colour.
    const colour = await page.locator("canvas").first()
      .evaluate((canvas) => [...canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 3, 1, 1).data]);
    assert.equal(colour[3], 255, `nothing is drawn of ${rounds}`);
  }
}

async function standOut(watch) {
  const { page, api } = watch;
  await api.put("/v1/campaigns/thirteen", { problem: problem(numbered(13)) });
  await api.put("/v1/campaigns/twelve", { problem: problem(numbered(12)) });
  const found = new Set();
  for (const id of ["thirteen", "twelve"]) {
    await show(watch, id);
    const pairs = await page.locator("section .swatch").evaluateAll((swatches) => {
      const light = (colour) => {
        const [r, g, b] = colour.match(/[\d.]+/g).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ground = light(getComputedStyle(document.body).backgroundColor);
      return swatches.map((swatch) => {
        const colour = getComputedStyle(swatch).backgroundColor;
        const [low, high] = [light(colour), ground].sort((a, b) => a - b);
        return [colour, (high + 0.05) / (low + 0.05)];
      });
    });
    for (const [colour, contrast] of pairs) {
      assert.ok(contrast >= 3, `${colour} has only ${contrast.toFixed(2)}`);
      found.add(colour);
    }
  }
  assert.equal(found.size, 13, "twelve colours, and one for all others");
}

async function tooEarly(watch) {
  await show(watch, "of-1");
  const words = await watch.page.getByRole("region", { name: /Reported completions/ }).locator("tbody td:last-child").allTextContents();
  assert.deepEqual(words, ["too early to say", "too early to say"]);
}

async function oldRounds(watch) {
  const { page, api } = watch;
  await api.put("/v1/campaigns/waiting", { problem: PROBLEM, expiry_seconds: 3600 });
  await api.play("waiting", 7, random, () => false);
  await api.play("waiting", 60, random);
  await show(watch, "waiting");
  await page.selectOption("#window", "50");
  await seen(page.getByText("7 more open rounds are older than these."));
  await page.selectOption("#round-status", "open");
  await seen(page.getByText("None of the latest 50 is open"));
}

async function lateRounds(watch) {
  const { page, api } = watch;
  await api.put("/v1/campaigns/late", { problem: problem(["only"]), expiry_seconds: 1 });
  await api.play("late", 2, random, () => false);
  await page.waitForTimeout(1300);
  await api.put("/v1/campaigns/late/rounds/1/feedback", { results: [{ task: "only", completed: true, reward: 0.5 }] });
  await show(watch, "late");
  const rows = page.getByRole("region", { name: "The latest rounds" }).locator("tbody tr");
  assert.match(await rows.nth(1).textContent(), /^1complete late/);
  assert.doesNotMatch(await rows.nth(0).textContent(), /late/);
}

async function guards(watch) {
  const { page, api, base } = watch;
  const line = page.locator(".guards");
  await show(watch, "of-3");
  assert.ok(await line.isHidden());
  const value = { max_change_cost: 0.25, min_move_cost: 0, kept: 2, gave_way: false };
  const state = await api.get("/v1/campaigns/of-3");
  await page.route((url) => url.pathname === "/v1/campaigns/of-3", (route) => route.fulfill({
    headers: { ETag: `"1.2.3.${value.kept}"` }, json: { ...state, guards: value },
  }));
  await page.goto(`${base}/#/`);
  await show(watch, "of-3");
  await seen(line);
  const text = await line.textContent();
  assert.match(text, /would bring 0\.25 more without the limit on changes and nothing more without the smallest change\./);
  assert.match(text, /2 tasks keep their spend, .* guards are satisfied\.$/);
  Object.assign(value, { kept: 1, gave_way: true });
  await seen(page.getByText(/1 task keeps its spend, .* so they are relaxed just enough\.$/));
}

async function shortPages(watch) {
  const { page, api } = watch;
  const isList = (url) => url.pathname.endsWith("/waiting/events");
  await page.route(isList, (route) => route.continue({ url: route.request().url().replace(/limit=\d+/, "limit=7") }));
  await show(watch, "waiting");
  const { events } = await api.get("/v1/campaigns/waiting/events?limit=1000");
  assert.ok(events.length > 100);
  const times = await page.locator(".events time").evaluateAll((all) => all.map((one) => one.dateTime));
  assert.deepEqual(times, events.slice(-12).reverse().map((event) => event.at));
}

/** A history that grows faster than the page can read it. */
async function fallsBehind(watch) {
  const { page, api } = watch;
  let end = 60;
  const at = (seq) => new Date(1e12 + 1000 * seq).toISOString();
  await page.route((url) => url.pathname.endsWith("/twelve/events"), (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [after, limit] = [Number(query.get("after")), Number(query.get("limit"))];
    const last = Math.min(end, after + limit);
    const event = (seq) => ({ seq, at: at(seq), token: "", kind: "status", status: "open" });
    const events = Array.from({ length: Math.max(0, last - after) }, (_, place) => event(after + place + 1));
    return route.fulfill({ json: last < end ? { events, next: last } : { events } });
  });
  const shows = (seq) => seen(page.locator(`.events li:first-child time[datetime="${at(seq)}"]`));
  await show(watch, "twelve");
  await shows(60);
  const remark = page.getByText("Events arrive faster than this page can read them");
  assert.equal(await remark.count(), 0);
  end = 500_000;
  await api.play("twelve", 1, random);
  await seen(remark);
  await shows(end);
  end += 10;
  await api.play("twelve", 1, random);
  await shows(end);
  await remark.waitFor({ state: "hidden" });
}

async function marked(watch) {
  const { page, api } = watch;
  await show(watch, "waiting");
  const mark = () => page.evaluate(() => getSelection().toString().replaceAll(/\s+/g, " ").trim());
  await page.evaluate(() => getSelection().selectAllChildren(document.querySelector("section tbody tr")));
  const before = await mark();
  await api.play("waiting", 3, random);
  await seen(page.locator(".facts dd").first().getByText("70"));
  const after = await mark();
  assert.ok(after.startsWith("search ") && after.split(" ").length === before.split(" ").length, `${before}, then ${after}`);
}

async function dialogCloses(watch) {
  const { page, base, api } = watch;
  await show(watch, "thirteen");
  await page.goto(`${base}/#/campaigns/twelve`);
  await seen(page.getByRole("heading", { level: 1, name: "twelve" }));
  await page.getByRole("button", { name: "Close" }).click();
  await seen(page.getByRole("dialog"));
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal((await api.get("/v1/campaigns/twelve")).status, "open");
}

async function focusStays(watch) {
  const { page, api, base } = watch;
  await api.put("/v1/campaigns/wide", { problem: problem(numbered(40)) });
  await show(watch, "wide");
  for (const [name, few] of [[/split of the next round/, 30], [/Reported completions/, 30]]) {
    const rows = page.getByRole("region", { name }).locator("tbody tr");
    const button = page.locator("section").filter({ has: page.getByRole("region", { name }) }).getByRole("button", { name: /Show/ });
    assert.equal(await rows.count(), few);
    await button.focus();
    await page.keyboard.press("Enter");
    assert.equal(await rows.count(), 40);
    assert.match(await focused(page), /Show only 30 tasks/);
  }
  await page.goto(`${base}/#/`);
  await page.getByRole("button", { name: "Next" }).focus();
  await page.keyboard.press("Enter");
  await seen(page.locator("button:disabled").getByText("Next"));
  assert.equal(await focused(page), "Previous");
}

async function sameListPage(watch) {
  const { page, base, api } = watch;
  for (let number = 10; number < 40; number += 1) await api.put(`/v1/campaigns/page-${number}`, { problem: PROBLEM });
  await page.goto(base);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("link", { name: "waiting" }).click();
  await seen(page.locator(".facts dd").first());
  await page.goBack();
  await seen(page.getByRole("link", { name: "waiting" }));
  await page.getByRole("button", { name: "Previous" }).click();
  await seen(page.getByRole("link", { name: "page-10" }));
}

async function helpStays(browser, folder) {
  let service = await serve(folder);
  const { base } = service;
  const { page, context, faults, forgive } = await open(browser, base);
  forgive(/ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED_ENCODING|Failed to fetch/);
  await page.goto(base);
  const help = page.getByRole("heading", { name: "No campaigns yet" });
  await seen(help);
  await service.kill();
  await seen(page.locator(".notice.ill").getByText("The service does not respond."));
  service = await serve(folder, new URL(base).host);
  await page.locator(".notice.ill").waitFor({ state: "detached", timeout: PATIENCE });
  await seen(help);
  assert.deepEqual(faults, []);
  await context.close();
  await service.stop();
  console.log("ok: help for the first campaign is shown again after an outage");
}

async function anotherStore(browser, data) {
  let service = await serve(`${data}/one`);
  const { base } = service;
  const api = client(base);
  await api.put("/v1/campaigns/same", { problem: problem(["old"]) });
  await api.play("same", 20, random);
  const watch = await open(browser, base);
  const { page } = watch;
  watch.forgive(/ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED_ENCODING|Failed to fetch|404/);
  await show({ page, base }, "same");
  await seen(page.locator(".events li").getByText(/Round 20/).first());
  await service.kill();
  service = await serve(`${data}/other`, new URL(base).host);
  await api.put("/v1/campaigns/same", { problem: problem(["new", "newer"]) });
  await api.play("same", 3, random);
  await seen(page.locator(".events li").getByText(/Round 3[ :]/).first());
  await seen(page.getByText("This is another campaign of the same name"));
  assert.equal(await page.locator(".events li").getByText(/Round 20/).count(), 0);
  assert.deepEqual(await page.getByRole("region", { name: /split of the next round/ }).locator("tbody th").allTextContents(), ["new", "newer"]);
  assert.equal(await page.locator("section").count(), 8);
  assert.deepEqual(watch.faults, []);
  await watch.context.close();
  await service.stop();
  console.log("ok: another store at the same address is read from the start");
}

async function narrowTokens(browser, folder) {
  const master = makeToken(folder, ["admin"]);
  const one = makeToken(folder, ["read"], "mine");
  const blind = makeToken(folder, ["report"]);
  const service = await serve(folder);
  const { base } = service;
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${master}` };
  const made = await fetch(`${base}/v1/campaigns/mine`, { method: "PUT", body: JSON.stringify({ problem: PROBLEM }), headers });
  assert.equal(made.status, 201);
  const watch = await open(browser, base);
  const { page } = watch;
  page.setDefaultTimeout(PATIENCE);
  watch.forgive(/401|403/);
  await page.goto(base);
  const token = page.getByRole("textbox", { name: "Token" });
  await token.fill("outlay_ключ");
  await page.keyboard.press("Enter");
  await seen(page.getByText("This is not a token"));
  // A token without read access: another one can be entered.
  await token.fill(blind);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Enter another token" }).click();
  await token.fill(one);
  await page.keyboard.press("Enter");
  const field = page.getByRole("textbox", { name: "Campaign" });
  await field.fill("min");
  for (let times = 0; times < 2; times += 1) {
    await Promise.all([page.waitForResponse((response) => response.status() === 403), askAgain(page)]);
    await page.waitForTimeout(100);
    assert.equal(await field.inputValue(), "min");
    assert.ok(await field.evaluate((element) => element === document.activeElement));
  }
  assert.equal(await page.locator("table:visible").count(), 0);
  assert.equal(await page.locator("#pulse").textContent(), "no access");
  await field.press("e");
  assert.equal(await field.inputValue(), "mine");
  await page.keyboard.press("Enter");
  await seen(page.locator(".facts dd").first());
  await page.getByRole("button", { name: "Another token" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await seen(page.locator(".facts dd").first());
  assert.deepEqual(watch.faults, []);
  await watch.context.close();
  await service.stop();
  console.log("ok: a token without access can be replaced, and typed text is kept");
}
