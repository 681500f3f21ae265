/**
 * The page that the code of a station opens: the seats of the players at the station's ports.
 *
 * The token of the station is in the fragment of the address, which browsers never send. The page sends the token in a header,
 * with a random id by which the daemon recognises this phone. Changes by other phones arrive by long polling: the daemon
 * answers a request when the seats have changed.
 */

import { Api, Status } from "../api.js";
import { clone, element, find, setText } from "../dom.js";
import { characterPicture } from "../icons/icons.js";
import { onArrival } from "../late.js";
import { characterName, loadNames } from "../slippi.js";
import { addTexts, fillTexts, text } from "../texts/texts.js";
import { sleep } from "../timing.js";

await addTexts(import.meta.url);

/**
 * @typedef {object} Port
 * @property {number} port
 * @property {number} playerIndex
 * @property {string} [name]
 * @property {string} [operatorName]
 * @property {string} [sponsor]
 * @property {string} [pronouns]
 * @property {boolean} [claimed]
 * @property {boolean} [yours]
 * @property {boolean} [waits]
 * @property {number} [characterId]
 * @property {number} [characterColor]
 *
 * @typedef {object} Person
 * @property {string} name
 * @property {string} [sponsor]
 * @property {string} [pronouns]
 * @property {boolean} [expected]
 *
 * @typedef {object} Seats
 * @property {string} name
 * @property {number} version
 * @property {"upcoming" | "running" | "over"} state
 * @property {boolean} playing
 * @property {Port[]} ports
 * @property {Person[]} people
 * @property {boolean} typedNames
 *
 * @typedef {{act: "claim" | "swap" | "leave", playerIndex?: number, name?: string, takeOver?: boolean, stay?: boolean}} Act
 */

const PHONE_KEY = "slpstream.phone";
const NAME_KEY = "slpstream.name";
const PHONE_BYTES = 16;
/** The daemon answers after 25 seconds at the latest. */
const POLL_TIMEOUT_MS = 40_000;
const MIN_PAUSE_MS = 150;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 10_000;
/** Daemons count wrong tokens. An invalid code has to be scanned again. */
const REFUSED_RETRY_MS = 60_000;

const station = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
const path = `v1/seats/${encodeURIComponent(station)}`;
const phone = remembered(PHONE_KEY) ?? newPhone();
const api = new Api(location.hash.slice(1), { headers: { "slpstream-phone": phone } });

/** @type {Seats | null} */
let seats = null;
/** The act that waits for a name or a second tap. @type {Act | null} */
let asked = null;
let busy = false;
/** @type {AbortController | null} */
let polling = null;

const sheet = /** @type {HTMLDialogElement} */ (find(".sheet"));
const nameField = /** @type {HTMLInputElement} */ (find(".name", sheet));

/** @param {string} key */
function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {string} value
 */
function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser that blocks storage: the phone is a new one after the next load.
  }
}

function newPhone() {
  const bytes = crypto.getRandomValues(new Uint8Array(PHONE_BYTES));
  const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  remember(PHONE_KEY, id);
  return id;
}

/** Keeps the page up to date. */
async function follow() {
  let retryMs = FIRST_RETRY_MS;
  let isLost = false; // the next request must not wait for a change, because its answer ends the notice
  while (true) {
    const waited = polling = new AbortController();
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      waited.abort();
    }, POLL_TIMEOUT_MS);
    try {
      const after = seats === null || isLost ? "" : `?after=${seats.version}`;
      const { status, body } = await api.get(`${path}${after}`, waited.signal);
      if (status === Status.OK) {
        take(body);
        notice("");
        isLost = false;
        retryMs = FIRST_RETRY_MS;
        await sleep(MIN_PAUSE_MS);
        continue;
      }
      refuse(status);
      await pause(status === Status.UNAUTHORISED ? REFUSED_RETRY_MS : retryMs);
    } catch {
      if (isLate || !waited.signal.aborted) {
        isLost = true;
        notice(text("seats.offline"));
        await pause(retryMs);
      }
    } finally {
      clearTimeout(deadline);
    }
    retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
  }
}

/** Ends the pause before the next attempt. @type {() => void} */
let wake = () => {};

/** @param {number} milliseconds */
async function pause(milliseconds) {
  await Promise.race([sleep(milliseconds), new Promise((resolve) => (wake = () => resolve(undefined)))]);
}

/** @param {number} status */
function refuse(status) {
  if (status === Status.UNAUTHORISED || status === Status.NOT_FOUND) {
    seats = null;
    closeSheet();
    find(".ports").hidden = true;
    find(".again").hidden = true;
    find(".set").textContent = "";
    find(".refusal").textContent = text(location.hash.length > 1 ? "seats.old_code" : "seats.no_code");
    find(".refusal").hidden = false;
  } else {
    notice(text(status === Status.TOO_MANY ? "seats.too_many" : "seats.not_now"));
  }
}

/** @param {string} words */
function notice(words) {
  const line = find(".notice");
  line.hidden = words === "";
  setText(line, words);
}

/**
 * Sends an act of this phone. Taking the port of another player needs a second tap.
 * @param {Act} act
 */
async function perform(act) {
  if (busy) {
    return;
  }
  busy = true;
  try {
    const { status, body } = await api.post(path, act);
    if (status === Status.OK) {
      if (act.act === "claim" && act.name !== undefined) {
        remember(NAME_KEY, act.name);
      }
      closeSheet();
      notice("");
      take(body);
    } else if (status === Status.CONFLICT && act.act === "claim") {
      await askAgain(act);
    } else {
      closeSheet();
      refuse(status);
    }
  } catch {
    closeSheet();
    notice(text("seats.offline"));
  } finally {
    busy = false;
  }
}

/**
 * Shows who sits at the port, or at which port a player of that name sits. The seats may have changed since they were shown.
 * @param {Act} act
 */
async function askAgain(act) {
  const { status, body } = await api.get(path);
  if (status === Status.OK) {
    take(body);
  }
  const others = seats?.ports.filter(({ claimed, yours }) => claimed && !yours) ?? [];
  const other = others.find(({ playerIndex }) => playerIndex === act.playerIndex) ?? others.find(({ name }) => isSame(name, act.name));
  if (other === undefined) {
    closeSheet();
    notice(text("seats.not_now"));
  } else {
    askToTakeOver(act, text("seats.sits", { name: other.name ?? "", port: other.port }));
  }
}

/**
 * @param {string | undefined} name
 * @param {string | undefined} other
 */
function isSame(name, other) {
  return name?.toLowerCase() === other?.toLowerCase();
}

/** @param {Seats} received */
function take(received) {
  if (seats !== null && received.version < seats.version) {
    return; // the answer to an older request
  }
  seats = received;
  render(seats);
}

/** @param {Seats} now */
function render(now) {
  document.title = text("seats.page", { station: now.name });
  find(".station").textContent = now.name;
  find(".refusal").hidden = true;
  const mine = now.ports.find(({ yours }) => yours) ?? null;
  const isOver = now.state === "over" && !now.playing;
  setText(find(".set"), text(now.playing ? "seats.playing" : isOver ? "seats.set_over" : `seats.${now.state}`));
  const again = find(".again");
  again.hidden = !isOver || mine === null;
  if (mine !== null) {
    const stay = find(".stay");
    stay.textContent = text("seats.stay", { port: mine.port });
    stay.onclick = () => perform({ act: "claim", playerIndex: mine.playerIndex, name: mine.name ?? "", stay: true });
  }
  const list = find(".ports");
  list.hidden = false;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.act : undefined;
  list.replaceChildren(
    ...now.ports.map((port) => {
      const item = clone("port");
      fillPort(item, port, mine, isOver);
      return item;
    }),
  );
  if (focused !== undefined) {
    find(`[data-act="${focused}"]`, list)?.focus();
  }
}

/**
 * @param {HTMLElement} item
 * @param {Port} port
 * @param {Port | null} mine
 * @param {boolean} isOver
 */
function fillPort(item, port, mine, isOver) {
  const { name, claimed = false, yours = false } = port;
  item.dataset.port = String(port.port);
  item.classList.toggle("free", name === undefined);
  item.classList.toggle("yours", yours);
  item.setAttribute("aria-label", text("seats.port", { port: port.port }));
  find(".number", item).textContent = String(port.port);
  find(".name", item).textContent = name === undefined ? text("seats.free") : [port.sponsor, name].filter(Boolean).join(" | ");
  find(".detail", item).replaceChildren(...detailsOf(port));
  const acts = find(".acts", item);
  /** @type {(key: string, run: () => void, primary?: boolean) => void} */
  const add = (key, run, primary = false) => {
    const label = text(`seats.${key}`);
    const button = element("button", label, {
      type: "button",
      "data-act": `${key} ${port.port}`,
      "aria-label": `${label}, ${text("seats.port", { port: port.port })}`,
    });
    button.classList.toggle("primary", primary);
    button.addEventListener("click", run);
    acts.append(button);
  };
  const { playerIndex } = port;
  if (yours) {
    add("rename", () => askForName({ act: "claim", playerIndex }));
    add("leave", () => perform({ act: "leave" }));
  } else if (mine !== null && !isOver) {
    add(name === undefined ? "move" : "swap", () => perform({ act: "swap", playerIndex }));
    if (claimed) {
      add("take", () => askToTakeOver({ act: "claim", playerIndex, name: mine.name }, text("seats.sits", { name: name ?? "", port: port.port })));
    }
  } else if (claimed && !isOver) {
    add("take", () => askForName({ act: "claim", playerIndex }));
  } else {
    add("sit_here", () => askForName({ act: "claim", playerIndex }), true);
  }
}

/** @param {Port} port */
function detailsOf({ yours = false, waits = false, operatorName, pronouns, characterId, characterColor = 0 }) {
  /** @type {(Node | string)[]} */
  const details = [];
  const words = [
    yours ? text("seats.you") : "",
    pronouns ?? "",
    waits ? text("seats.from_next_game") : "",
    operatorName === undefined ? "" : text("seats.shown_as", { name: operatorName }),
  ].filter(Boolean);
  if (characterId !== undefined) {
    details.push(characterPicture(characterId, characterColor));
    words.unshift(characterName(characterId));
  }
  return [...details, words.join(" · ")];
}

/** Shows the names to choose from. @param {Act} act */
function askForName(act) {
  if (seats === null) {
    return;
  }
  asked = act;
  find("#sheet-title").textContent = text("seats.who", { port: (act.playerIndex ?? 0) + 1 });
  find(".why", sheet).hidden = true;
  find(".take-over").hidden = true;
  find(".typed").hidden = !seats.typedNames;
  find(".people").hidden = false;
  find(".typed .label").textContent = text(seats.people.length === 0 ? "seats.your_name" : "seats.other_name");
  nameField.value = "";
  const own = remembered(NAME_KEY);
  const known = seats.people.filter(({ name }) => name !== own);
  const me = seats.people.find(({ name }) => name === own) ?? (own !== null && seats.typedNames ? { name: own } : null);
  find(".people").replaceChildren(...(me === null ? known : [me, ...known]).map((person) => personButton(person, person === me)));
  openSheet();
}

/**
 * @param {Person} person
 * @param {boolean} isOwn  Whether this phone used the name before.
 */
function personButton({ name, sponsor, pronouns, expected = false }, isOwn) {
  const button = element("button", name, { type: "button" });
  button.classList.toggle("primary", isOwn || expected);
  const details = [sponsor, pronouns, expected ? text("seats.expected") : ""].filter(Boolean).join(" · ");
  if (details !== "") {
    button.append(element("small", ` ${details}`));
  }
  button.addEventListener("click", () => useName(name));
  const item = element("li");
  item.append(button);
  return item;
}

/** @param {string} name */
function useName(name) {
  if (asked !== null && name !== "") {
    perform({ ...asked, name });
  }
}

/**
 * @param {Act} act
 * @param {string} why
 */
function askToTakeOver(act, why) {
  asked = act;
  find("#sheet-title").textContent = text("seats.taken");
  find(".why", sheet).textContent = why;
  find(".why", sheet).hidden = false;
  find(".people").hidden = true;
  find(".typed").hidden = true;
  const button = find(".take-over");
  button.hidden = false;
  button.textContent = text("seats.take_over", { name: act.name ?? "", port: (act.playerIndex ?? 0) + 1 });
  openSheet();
}

function openSheet() {
  if (!sheet.open) {
    sheet.showModal();
  }
}

function closeSheet() {
  asked = null;
  if (sheet.open) {
    sheet.close();
  }
}

find(".take-over").addEventListener("click", () => asked !== null && perform({ ...asked, takeOver: true }));
find(".use").addEventListener("click", () => useName(nameField.value.trim()));
nameField.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    useName(nameField.value.trim());
  }
});
sheet.addEventListener("close", () => (asked = null));
// A phone that wakes up has lost its connection without noticing.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") {
    polling?.abort();
    wake();
  }
});
addEventListener("hashchange", () => location.reload());

fillTexts();
onArrival(() => seats !== null && render(seats));
loadNames();
follow();
