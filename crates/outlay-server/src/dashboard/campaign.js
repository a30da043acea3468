// One campaign.

import { ApiError, patch } from "./api.js";
import { announce, ask, h, write } from "./dom.js";
import { badge, trouble } from "./campaigns.js";
import { Campaign, follow, LISTENING_PERIOD, PERIOD, repeat } from "./follow.js";
import { palette } from "./colours.js";
import { curvesView } from "./curves.js";
import { deliveryView } from "./delivery.js";
import { eventsView } from "./events.js";
import { exportView } from "./export.js";
import { guardsLine } from "./guards.js";
import { historyView, rewardPerRound } from "./history.js";
import { qualityView, quality } from "./quality.js";
import { roundsView } from "./rounds.js";
import { splitView } from "./split.js";
import { amount, count, plural, time } from "./words.js";

const CHANGES = {
  paused: { name: "Pause", done: "The campaign is paused: it issues no rounds and still accepts outcomes." },
  open: { name: "Open again", done: "The campaign is open." },
  closed: { name: "Close", done: "The campaign is closed." },
};

export function showCampaign(main, id) {
  const campaign = new Campaign(id);
  const message = h("div", { role: "status" });
  // The result of the last change stays until the next one, also if the connection is lost.
  const outcome = h("div", { role: "status" });
  const status = h("span", { class: "status" });
  const buttons = h("div", { class: "buttons" });
  const facts = h("dl", { class: "facts" });
  const guards = guardsLine();
  const warning = h("div", { role: "status" });
  const body = h("div", { hidden: true }, warning, facts, guards.element);
  main.append(h("div", { class: "title" }, h("h1", {}, id), status, buttons), message, outcome, body);
  let views = null;
  let shownStatus = null;
  let began = null;
  let amendments;
  let said = "";

  async function step(signal) {
    if (!(await campaign.update(signal))) return;
    if (views !== null && began !== campaign.state.created_at) beginAgain();
    if (views !== null && amendments !== campaign.state.amendments) leave();
    views ??= begin();
    draw();
  }

  /** Another store responds at this address, so the campaign may have other tasks and curves. */
  function beginAgain() {
    leave();
    const text = `This is another campaign of the same name, created ${time(campaign.state.created_at)}: the service uses another store now.`;
    outcome.replaceChildren(h("div", { class: "notice" }, text));
  }

  /** Removes the views; others are begun. After an amendment, too, the tasks and curves differ. */
  function leave() {
    for (const view of views) {
      view.leave?.();
      view.element.remove();
    }
    views = null;
  }

  function begin() {
    began = campaign.state.created_at;
    ({ amendments } = campaign.state);
    const colours = palette(campaign.state.tasks);
    const again = () => {
      campaign.forget();
      following.now();
    };
    const made = [
      splitView(colours),
      historyView(colours, campaign, again),
      qualityView(colours),
      deliveryView(colours),
      curvesView(colours, campaign),
      roundsView(),
      eventsView(),
      exportView(id, campaign),
    ];
    body.append(...made.map((view) => view.element));
    body.hidden = false;
    return made;
  }

  function draw() {
    drawStatus();
    drawFacts(facts, campaign);
    guards.draw(campaign.state);
    drawWarning(warning, campaign.state);
    for (const view of views) view.draw(campaign);
  }

  function drawStatus() {
    const now = campaign.state.status;
    if (now === shownStatus) return;
    if (shownStatus !== null) announce(CHANGES[now].done);
    shownStatus = now;
    status.replaceChildren(badge(now));
    const focused = buttons.contains(document.activeElement);
    const possible = now === "open" ? ["paused", "closed"] : now === "paused" ? ["open", "closed"] : [];
    buttons.replaceChildren(...possible.map((to) => h("button", { type: "button", onclick: () => change(to) }, CHANGES[to].name)));
    if (focused) buttons.firstChild?.focus();
  }

  async function change(to) {
    if (to === "closed" && !(await isSure(id))) return;
    try {
      campaign.take(await patch(campaign.path, { status: to }, campaign.tag));
      outcome.replaceChildren();
      draw();
    } catch (error) {
      const hasMoved = error instanceof ApiError && error.code === "version-moved";
      outcome.replaceChildren(hasMoved
        ? h("div", { class: "notice" }, "The campaign was changed by another client. Its present state is shown below; please decide again.")
        : trouble(error));
    }
    campaign.forget();
    following.now();
  }

  function failed(error) {
    if (error === null) {
      if (said !== "") message.replaceChildren();
      said = "";
      return;
    }
    // The campaign was deleted: go back to the list of campaigns.
    if (error.code === "no-campaign" && views !== null) {
      announce(`The campaign ${id} was deleted.`);
      location.hash = "#/";
      return;
    }
    // An unchanged message stays, so that a button in it keeps the focus.
    const text = `${error.code} ${error.message}`;
    if (text !== said) message.replaceChildren(error.code === "no-campaign" ? missing(id) : trouble(error));
    said = text;
  }

  const stream = follow(campaign.path, () => following.now());
  const following = repeat(step, failed, () => (stream.isOn() ? LISTENING_PERIOD : PERIOD));
  return () => {
    stream.stop();
    following.stop();
    for (const view of views ?? []) view.leave?.();
  };
}

const isSure = (id) => ask({
  title: `Close ${id}?`,
  content: h("p", {}, "This is final: the campaign issues no more rounds. Outcomes of open rounds are still accepted for a while."),
  action: "Close campaign",
  kind: "danger",
});

const missing = (id) => h("div", { class: "notice missing" },
  h("p", {}, h("strong", {}, `There is no campaign named ${id}.`)),
  h("p", {}, "This page shows it as soon as it is created. ", h("a", { href: "#/" }, "All campaigns")));

function drawFacts(list, campaign) {
  const { state } = campaign;
  const rounds = [...campaign.rounds.values()];
  const expired = rounds.filter((round) => round.status === "expired").length;
  const gain = rewardPerRound(rounds);
  const entries = [
    ["Rounds", count(state.rounds), state.horizon === undefined ? "issued" : `of ${count(state.horizon)} planned`],
    ["Open rounds", count(state.open_rounds), "waiting for outcomes"],
    ["Expired", count(expired), `of the latest ${count(rounds.length)}`],
    ["Late outcomes", count(state.late), "after expiry; counted"],
    ["Reward per round", gain === null ? "–" : amount(gain.mean),
      gain === null ? "nothing reported yet" : gain.isComplete ? "mean of complete rounds" : "as far as reported"],
    ["Completions", state.completions_over_expected === undefined ? "–" : `${state.completions_over_expected.toFixed(2)} ×`, "of the expected number"],
    ["Budget", amount(state.budget), "per round"],
    ["Learner", state.learner, `created ${time(state.created_at)}`],
  ];
  if (list.childElementCount === 0) {
    list.append(...entries.map(([name]) => h("div", {}, h("dt", {}, name), h("dd", {}), h("dd", { class: "muted" }))));
  }
  entries.forEach(([, value, remark], place) => {
    write(list.children[place].children[1], value);
    write(list.children[place].children[2], remark);
  });
}

function drawWarning(box, state) {
  const found = quality(state);
  const text = found.sentences.join(" ");
  if (box.dataset.text === text) return;
  box.dataset.text = text;
  box.replaceChildren(...(text === "" ? [] : [h("div", { class: "notice warn" },
    h("p", {}, h("strong", {}, found.title)),
    found.sentences.map((sentence) => h("p", {}, sentence)),
    h("p", {}, h("a", { href: "#section-reported-and-expected-successes", onclick: jump }, `${plural(found.tasks.length, "task")} to check`)))]));
}

/** Scrolls within the page without changing the address, which selects the view. */
function jump(event) {
  event.preventDefault();
  const heading = document.getElementById("section-reported-and-expected-successes");
  heading.tabIndex = -1;
  heading.scrollIntoView();
  heading.focus();
}
