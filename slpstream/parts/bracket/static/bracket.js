/**
 * The bracket page, `/bracket`: pending results with their reasons, sent results, and buttons for people's decisions. It asks
 * the daemon every few seconds. A set keeps its card, and a card is redrawn only when it has changed. A set that appears above
 * a button can move the button away from a finger, so buttons that send a result ask first, and the buttons of a card that has
 * just moved do nothing.
 */

import { Api, ROOT, Status, isRefusal } from "../api.js";
import { element, find, setText } from "../dom.js";
import { addTexts, fillTexts, text } from "../texts/texts.js";
import { sleep } from "../timing.js";
import { takeToken } from "../token.js";

await addTexts(import.meta.url);

/** @typedef {Record<string, any>} Json */

const REFRESH_MS = 3000;
const SETS_REFRESH_MS = 12000;
const TIMEOUT_MS = 15000;
const MAX_SETS = 60;
/** A press within this time after a card moved was meant for the card that was there before. */
const SETTLE_MS = 600;
/** The states of pending results. */
const WAITING = ["ask", "confirm", "due", "conflict"];

const api = new Api(takeToken(), { timeoutMs: TIMEOUT_MS });

/** @type {Json} */ let state = { configured: true, queue: [] };
/** @type {Json[]} */ let sets = [];
/** By card: the reason why the last button failed. @type {Map<string, string>} */ const refusals = new Map();
/** By card: the data that it was last drawn from. @type {WeakMap<Element, string>} */ const drawn = new WeakMap();
/** By card: the time when it appeared among other cards or was moved by them. @type {WeakMap<Element, number>} */ const movedAt = new WeakMap();
/** @type {Set<string>} */ const busy = new Set();

/**
 * Sends a person's decision, and shows the answer.
 * @param {string} card  Which card shows a refusal.
 * @param {string} path
 * @param {Json} body
 */
async function act(card, path, body) {
  busy.add(card);
  refusals.delete(card);
  draw();
  try {
    const answer = await api.post(path, body);
    if (answer.status === Status.OK) {
      state = answer.body;
      await refreshSets();
    } else {
      refusals.set(card, isRefusal(answer.status) ? text("panel.not_operator") : answer.body.detail);
    }
  } catch {
    refusals.set(card, text("panel.not_responding"));
  }
  busy.delete(card);
  draw();
}

/** @param {Json} entry @param {Json} decision */
const decide = (entry, decision) => act(cardOf(entry), "v1/bracket", { station: entry.station, setId: entry.setId, ...decision });

/** @param {Json} entry */
const cardOf = (entry) => `${entry.station}/${entry.setId}`;

/** @param {string} label @param {() => unknown} press @param {boolean} disabled */
function button(label, press, disabled) {
  const made = /** @type {HTMLButtonElement} */ (element("button", label, { type: "button" }));
  made.disabled = disabled;
  made.addEventListener("click", press);
  return made;
}

/**
 * A list of choices, and a button that acts on the chosen one, because the arrow keys pass through other choices.
 * @param {string} label
 * @param {HTMLElement[]} options
 * @param {string} action  Label of the button.
 * @param {(value: string) => unknown} press
 * @param {boolean} disabled
 */
function choice(label, options, action, press, disabled) {
  const made = element("p", "", { class: "choice" });
  const select = /** @type {HTMLSelectElement} */ (element("select", "", { "aria-label": label }));
  select.append(element("option", label, { value: "" }), ...options);
  select.disabled = disabled;
  const act = button(action, () => select.value !== "" && press(select.value), true);
  select.addEventListener("change", () => {
    act.disabled = select.value === "";
  });
  made.append(select, act);
  return made;
}

/** The two sides of a set. @param {string[]} names @param {(number | null)[]} scores @param {number | undefined} winner @param {string[]} [below] */
function sides(names, scores, winner, below = []) {
  return names.map((name, side) => {
    const line = element("p", "", { class: winner === side ? "side won" : "side" });
    const who = element("span", name);
    if (below[side] && below[side] !== name) {
      who.append(element("small", below[side]));
    }
    line.append(who, element("span", scores[side] === null || scores[side] === undefined ? "" : String(scores[side])));
    return line;
  });
}

/** @param {string} left @param {string} right */
function where(left, right) {
  const line = element("p", "", { class: "where quiet" });
  line.append(element("span", left), element("span", right));
  return line;
}

/** @param {Json} found @returns {string[]} */
const namesOf = (found) => found.entrants.map((/** @type {Json | null} */ each) => each?.name ?? text("bracket.unknown"));

/** A played set. @param {HTMLElement} card @param {Json} entry */
function drawEntry(card, entry) {
  const id = cardOf(entry);
  const disabled = busy.has(id);
  card.className = entry.changed ? "card changed" : "card";
  card.dataset.state = entry.state;
  const actions = element("div", "", { class: "actions" });
  const finishes = entry.state === "confirm";
  if (finishes) {
    actions.append(button(text("bracket.confirm"), () => confirm(reportQuestion(entry)) && decide(entry, { do: "confirm" }), disabled));
  }
  if (entry.bracketSet && (entry.state === "conflict" || (entry.state === "done" && entry.changed))) {
    actions.append(
      button(text("bracket.correct"), () => confirm(text("bracket.correct_sure")) && decide(entry, { do: "correct" }), disabled),
    );
    if (entry.why?.includes("dependent sets")) {
      const reset = () => confirm(text("bracket.reset_sure")) && decide(entry, { do: "correct", resetDependents: true });
      actions.append(button(text("bracket.reset"), reset, disabled));
    }
  }
  if (WAITING.includes(entry.state)) {
    actions.append(button(text("bracket.drop"), () => confirm(text("bracket.drop_sure")) && decide(entry, { do: "drop" }), disabled));
  }
  if (state.reads && ["aside", "ask", "following", "confirm", "dropped"].includes(entry.state)) {
    actions.append(chooser(entry, disabled));
  }
  const sent = element("details");
  sent.append(element("summary", text(state.dryRun || entry.state !== "done" ? "bracket.would_send" : "bracket.sent")));
  sent.append(element("pre", JSON.stringify(entry.request, null, 1)));
  sent.hidden = !entry.request || entry.state === "aside";
  const wasOpen = card.querySelector("details")?.open;
  /** @type {HTMLDetailsElement} */ (sent).open = wasOpen === true;
  card.replaceChildren(
    where([entry.station, entry.round].filter(Boolean).join(" · "), text(`bracket.state_${entry.state}`)),
    ...sides(entry.names, entry.score, entry.winner, entry.entrants),
    ...(entry.why ? [element("p", entry.why, { class: "why" })] : []),
    ...(entry.gamesLeftOut ? [element("p", gamesLeftOut(entry), { class: "quiet" })] : []),
    ...(refusals.has(id) ? [element("p", refusals.get(id), { class: "refused", role: "alert" })] : []),
    actions,
    sent,
  );
}

/** Asks whether to report a result. The question repeats the result. @param {Json} entry */
function reportQuestion({ names, score }) {
  const result = names.map((/** @type {string} */ name, /** @type {number} */ side) => `${name} ${score[side] ?? ""}`.trim());
  return text("bracket.confirm_sure", { result: result.join(" – ") });
}

/**
 * The reason why a result is sent without games. A webhook gets the score, a bracket counts it from the games.
 * @param {Json} entry
 */
const gamesLeftOut = (entry) =>
  `${text(state.reads ? "bracket.winner_only" : "bracket.without_games")} ${text(`bracket.games_${entry.gamesLeftOut}`)}`;

/** The sets of the bracket that can still be played. */
const openSets = () => sets.filter((each) => each.state !== "done" && each.entrants.every(Boolean));

/** The choice of the bracket's set, and of which player is which. @param {Json} entry @param {boolean} disabled */
function chooser(entry, disabled) {
  const open = openSets();
  const candidates = /** @type {string[]} */ (entry.candidates ?? []);
  const first = open.filter((each) => candidates.includes(each.id) || each.id === entry.bracketSet);
  const rest = open.filter((each) => !first.includes(each));
  const options = [];
  for (const each of [...first, ...rest]) {
    const [one, other] = namesOf(each);
    for (const swapped of [false, true]) {
      const names = swapped ? `${other} – ${one}` : `${one} – ${other}`;
      options.push(element("option", `${names}${each.round ? `, ${each.round}` : ""}`, { value: `${swapped}/${each.id}` }));
    }
  }
  const press = (/** @type {string} */ value) => {
    const [swapped, ...id] = value.split("/");
    return decide(entry, { do: "assign", bracketSet: id.join("/"), swapped: swapped === "true" });
  };
  return choice(text("bracket.choose"), options, text("bracket.take"), press, disabled);
}

/** A set of the bracket. @param {HTMLElement} card @param {Json} found */
function drawSet(card, found) {
  const id = `set/${found.id}`;
  const disabled = busy.has(id) || state.dryRun;
  card.className = "card";
  card.dataset.state = found.state;
  const actions = element("div", "", { class: "actions" });
  const filled = found.entrants.every(Boolean);
  const isSettled = () => performance.now() - (movedAt.get(card) ?? -Infinity) > SETTLE_MS;
  const change = (/** @type {string} */ what) => () => isSettled() && act(id, "v1/bracket/sets", { set: found.id, do: what });
  if (filled && found.state === "open") {
    actions.append(button(text("bracket.call"), change("call"), disabled));
  }
  if (filled && (found.state === "open" || found.state === "called")) {
    actions.append(button(text("bracket.start"), change("start"), disabled));
  }
  const stations = /** @type {string[]} */ (state.stations ?? []).filter((each) => each !== found.station);
  if (filled && found.state !== "done" && stations.length > 0) {
    const options = stations.map((each) => element("option", each, { value: each }));
    const assign = (/** @type {string} */ station) => act(id, "v1/bracket/sets", { set: found.id, do: "assign", station });
    const press = (/** @type {string} */ value) => isSettled() && assign(value);
    actions.append(choice(text(found.station ? "bracket.move_to" : "bracket.assign_to"), options, text("bracket.assign"), press, disabled));
  }
  const station = found.station ?? found.bracketStation ?? "";
  card.replaceChildren(
    where([station, found.round, found.event].filter(Boolean).join(" · "), text(`bracket.set_${found.state}`)),
    ...sides(namesOf(found), found.scores, found.winner),
    ...(refusals.has(id) ? [element("p", refusals.get(id), { class: "refused", role: "alert" })] : []),
    actions,
  );
}

/**
 * Shows a card for each value. Cards are moved with their values, never reused for others.
 * @param {string} selector
 * @param {Json[]} values
 * @param {(card: HTMLElement, value: Json) => void} show
 */
function drawCards(selector, values, show) {
  const list = find(selector);
  const before = new Map([.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(":scope > .card"))].map((card) => [card.dataset.card, card]));
  const choices = JSON.stringify(openSets());
  const cards = values.map((value) => {
    const id = value.setId === undefined ? `set/${value.id}` : cardOf(value);
    const card = before.get(id) ?? element("li", "", { class: "card", "data-card": id });
    const content = JSON.stringify([value, busy.has(id), refusals.get(id), state.dryRun, state.reads, state.stations, choices]);
    const isInUse = card.querySelector("select") === document.activeElement && document.activeElement !== null;
    if (drawn.get(card) !== content && !isInUse) {
      drawn.set(card, content);
      show(card, value);
    }
    return card;
  });
  before.forEach((card) => cards.includes(card) || card.remove());
  cards.forEach((card, place) => {
    if (list.children[place] !== card) {
      list.insertBefore(card, list.children[place] ?? null);
    }
  });
}

/** The position of each card. */
function places() {
  const cards = [...document.querySelectorAll(".card")];
  return new Map(cards.map((card) => {
    const { left, top } = card.getBoundingClientRect();
    return [card, `${left} ${top}`];
  }));
}

/** Changes the page, and records the cards that have moved because of it. @param {() => void} change */
function notingMoves(change) {
  const before = places();
  change();
  if (before.size > 0) {
    places().forEach((place, card) => place !== before.get(card) && movedAt.set(card, performance.now()));
  }
}

function draw() {
  notingMoves(drawAll);
}

function drawAll() {
  const focused = document.activeElement;
  const queue = /** @type {Json[]} */ (state.queue);
  const waiting = queue.filter((entry) => WAITING.includes(entry.state) || entry.changed);
  const others = queue.filter((entry) => !waiting.includes(entry));
  const search = /** @type {HTMLInputElement} */ (find("input[type=search]")).value.trim().toLowerCase();
  const open = sets.filter((each) => each.state !== "done" && each.entrants.some(Boolean));
  const shown = open.filter((each) => `${namesOf(each)} ${each.round ?? ""} ${each.station ?? ""}`.toLowerCase().includes(search));
  shown.sort((one, other) => Number(other.station !== undefined) - Number(one.station !== undefined));
  drawCards(".queue .cards", waiting, drawEntry);
  drawCards(".other .cards", others, drawEntry);
  drawCards(".sets .cards", shown.slice(0, MAX_SETS), drawSet);
  find(".queue .none").hidden = waiting.length > 0;
  find(".other").hidden = others.length === 0;
  find(".sets").hidden = open.length === 0;
  find(".dry").hidden = !state.configured || !state.dryRun;
  if (focused !== null && !focused.isConnected) {
    find("#queue").focus({ preventScroll: true }); // the pressed button is gone, so the keyboard continues from here
  } else if (focused instanceof HTMLElement && focused !== document.activeElement) {
    focused.focus({ preventScroll: true }); // its card was moved
  }
}

/**
 * @param {string} problem
 * @param {string} [fragment]  The part of the dashboard that solves the problem.
 */
function showTrouble(problem, fragment = "") {
  const trouble = find(".trouble");
  if ((trouble.firstChild?.textContent ?? "") === problem) {
    return;
  }
  notingMoves(() => {
    trouble.hidden = problem === "";
    trouble.textContent = problem;
    if (fragment !== "") {
      trouble.append(" ", element("a", text("login.log_in"), { href: new URL(fragment, ROOT).href }));
    }
  });
}

/** @param {string} path */
async function load(path) {
  const { status, body } = await api.get(path);
  if (status === Status.UNAUTHORISED) {
    throw new Unauthorised();
  }
  return status === Status.OK ? body : null;
}

class Unauthorised extends Error {}

async function refresh() {
  try {
    state = (await load("v1/bracket").finally(() => (find("p.loading").hidden = true))) ?? state;
    const words = state.configured ? (state.connected ? "bracket.connected" : "bracket.not_connected") : "bracket.not_configured";
    setText(find(".state"), text(words, { kind: state.kind ?? "" }));
    showTrouble(state.trouble ? `${state.kind} ${state.trouble}` : "");
    draw();
  } catch (error) {
    if (error instanceof Unauthorised) {
      showTrouble(text("problem.no_token"), "#login");
    } else {
      showTrouble(text("daemon.unreachable"));
    }
  }
}

async function refreshSets() {
  if (state.configured && state.reads) {
    try {
      sets = (await load("v1/bracket/sets")) ?? sets;
      draw();
    } catch {
      // The other request reports the problem.
    }
  }
}

/** @param {() => Promise<void>} task @param {number} pauseMs */
async function repeat(task, pauseMs) {
  for (;;) {
    if (!document.hidden) {
      await task();
    }
    await sleep(pauseMs * (0.9 + Math.random() / 5));
  }
}

fillTexts();
document.title = `${text("bracket.title")} · slpstream`;
find("input[type=search]").addEventListener("input", draw);
refresh().then(() => {
  repeat(refresh, REFRESH_MS);
  repeat(refreshSets, SETS_REFRESH_MS);
});
