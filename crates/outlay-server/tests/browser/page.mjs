// Opens browser pages and records everything that goes wrong in them.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const require = createRequire(resolve("target/browser/tools/package.json"));
const { chromium } = require("playwright-core");

export const launch = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });

export const SIZES = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 2, hasTouch: true },
};

const MEDIA = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };

/** Serves the page from a folder, with the content security policy of the service. */
async function tryOut(page, folder) {
  await page.route((url) => url.pathname === "/" || url.pathname.startsWith("/dashboard/"), async (route) => {
    try {
      const url = new URL(route.request().url());
      const policy = (await route.fetch({ url: `${url.origin}/`, headers: {} })).headers()["content-security-policy"];
      const name = url.pathname === "/" ? "index.html" : url.pathname.slice("/dashboard/".length);
      const headers = { "content-type": `${MEDIA[name.split(".").at(-1)]}; charset=utf-8`, "content-security-policy": policy, "cache-control": "no-cache" };
      await route.fulfill({ headers, body: readFileSync(join(folder, name)) });
    } catch {
      await route.abort().catch(() => {});
    }
  });
}

/** A page with a list of its faults; `forgive` allows console lines that a test provokes. */
export async function open(browser, base, options = SIZES.light) {
  const context = await browser.newContext({ ...options, acceptDownloads: true });
  const page = await context.newPage();
  if (process.env.DASHBOARD) await tryOut(page, process.env.DASHBOARD);
  const faults = [];
  const answers = [];
  let forgiven = null;
  page.on("console", (line) => {
    if (["error", "warning"].includes(line.type()) && !forgiven?.test(line.text())) faults.push(`console: ${line.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("blob:")) faults.push(`request to another host: ${request.url()}`);
  });
  page.on("response", (response) => answers.push({ status: response.status(), path: new URL(response.url()).pathname }));
  await page.exposeFunction("violated", (what) => faults.push(`policy: ${what}`));
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => window.violated(`${event.violatedDirective} ${event.blockedURI}`)));
  return { page, context, faults, answers, forgive: (pattern) => { forgiven = pattern; } };
}

/** Texts whose contrast with their background is below 4.5 (3 for large texts). */
export const paleTexts = (page) => page.evaluate(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parts = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return parts("white");
  };
  const pale = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (texts.currentNode.data.trim() === "" || !element.checkVisibility() || element.closest(":disabled, .hidden-text, noscript")) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(parts(style.color)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) pale.push(`${texts.currentNode.data.trim().slice(0, 40)} (${contrast.toFixed(2)})`);
  }
  return pale;
});

/** Obstacles for users of screen readers or keyboards. */
export const obstacles = (page) => page.evaluate(() => {
  const found = [];
  const shown = (element) => element.checkVisibility();
  const named = (element) => element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
  for (const control of document.querySelectorAll("button, a, select, input, summary")) {
    if (shown(control) && named(control).trim() === "") found.push(`no name: ${control.outerHTML.slice(0, 80)}`);
  }
  for (const picture of document.querySelectorAll("canvas")) {
    if (!picture.closest("[role=img][aria-label]")) found.push("a picture without a name");
  }
  for (const [place, number] of [["header", 1], ["main", 1], ["footer", 1], ["h1", 1]]) {
    const count = [...document.querySelectorAll(place)].filter(shown).length;
    if (count !== number) found.push(`${count} of ${place}`);
  }
  let level = 0;
  for (const heading of [...document.querySelectorAll("h1, h2, h3")].filter(shown)) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) found.push(`a heading level is skipped before ${heading.textContent}`);
    level = now;
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent || !table.querySelector("thead th[scope=col]")) found.push("a table without caption or headings");
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) found.push("a duplicate id");
  return found;
});
