/** The console of the API page: a subscription to try, with the address and the message that make the same subscription. */

import { ROOT } from "../api.js";
import { setUpCopying } from "../copying.js";
import { element, find, setText } from "../dom.js";
import { connect } from "../slpstream.js";
import { text } from "../texts/texts.js";

/**
 * @typedef {Record<string, any>} Json
 * @typedef {{token: string | undefined, stream: Json, stations: Json[]}} Given
 */

/** Older messages are removed. */
const MAX_MESSAGES = 200;
/** Messages that arrive while the page is not drawn; older ones are only counted. */
const MAX_WAITING = 50;

/**
 * @param {HTMLElement} root
 * @param {Given} given
 */
export function setUpConsole(root, { token, stream, stations }) {
  const form = /** @type {HTMLFormElement} */ (find("form", root));
  const option = (/** @type {string} */ name) => /** @type {HTMLInputElement | HTMLSelectElement} */ (form.elements.namedItem(name));
  const [url, request] = /** @type {HTMLInputElement[]} */ ([...root.querySelectorAll(".url")]);
  const [connectButton, pauseButton] = [find(".connect", root), /** @type {HTMLButtonElement} */ (find(".pause", root))];
  const list = find(".messages", root);
  /** @type {import("../slpstream.js").Client | null} */
  let client = null;
  let paused = false;
  let received = 0;
  /** @type {Json[]} */
  let waiting = [];

  const values = (/** @type {string} */ name) => valuesOf(stream.options.find((/** @type {Json} */ each) => each.name === name).schema);
  option("station").append(element("option", text("docs.console.all_stations"), { value: "*" }));
  option("station").append(...stations.map(({ id, name }) => element("option", name, { value: id })));
  for (const name of ["frames", "delivery"]) {
    const { default: first } = stream.options.find((/** @type {Json} */ each) => each.name === name).schema;
    option(name).append(...values(name).map((value) => element("option", value, { value })));
    option(name).value = first;
  }
  const topics = values("topics").map((topic) => {
    const box = /** @type {HTMLInputElement} */ (element("input", "", { type: "checkbox", name: "topics", value: topic }));
    box.checked = topic !== "frame";
    const label = element("label");
    label.append(box, ` ${topic}`);
    find(".topics", root).append(label);
    return box;
  });
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".link"))) {
    setUpCopying(row);
  }

  /** The chosen options that are not defaults, in the form of `connect`. @returns {import("../slpstream.js").Subscription} */
  function subscription() {
    const chosen = /** @type {any[]} */ (topics.filter(({ checked }) => checked).map(({ value }) => value));
    const fields = option("fields").value.split(",").map((each) => each.trim()).filter(Boolean);
    const rate = Number(option("rate").value);
    return {
      stations: option("station").value === "*" ? "*" : [option("station").value],
      ...(chosen.length === topics.length ? {} : { topics: chosen }),
      ...(option("frames").value === "live" ? {} : { frames: "finalized" }),
      ...(option("delivery").value === "conflate" ? {} : { delivery: "lossless" }),
      ...(fields.length === 0 ? {} : { fields }),
      ...(Number.isInteger(rate) && rate >= 1 ? { rate } : {}),
    };
  }

  function showForms() {
    const chosen = subscription();
    const address = new URL(stream.path.slice(1), ROOT);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    for (const [name, value] of Object.entries(chosen)) {
      address.searchParams.set(name === "stations" ? "station" : name, String(value));
    }
    url.value = address.href.replaceAll("%2C", ",");
    request.value = JSON.stringify({ op: "subscribe", ...chosen });
  }

  function open() {
    client = connect({ base: ROOT, ...(token === undefined ? {} : { token }), ...subscription() });
    client.on("message", take);
    client.on("connection", showState);
    showState();
  }

  function close() {
    client?.close();
    client = null;
    showState();
  }

  function showState() {
    const connection = client?.connection ?? "closed";
    connectButton.textContent = text(client === null ? "docs.console.connect" : "docs.console.disconnect");
    pauseButton.disabled = client === null;
    const state = find(".state", root);
    state.dataset.state = { open: "playing", waiting: "offline" }[/** @type {string} */ (connection)] ?? "";
    setText(state, client === null ? "" : client.problem || text(`docs.connection.${connection}`));
  }

  /** @param {Json} message */
  function take(message) {
    received += 1;
    if (!paused) {
      waiting.push(message);
      waiting = waiting.slice(-MAX_WAITING);
    }
    if (waiting.length <= 1) {
      requestAnimationFrame(draw);
    }
  }

  function draw() {
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 8;
    list.append(...waiting.map(messageItem));
    waiting = [];
    while (list.children.length > MAX_MESSAGES) {
      list.firstElementChild?.remove();
    }
    if (atEnd) {
      list.scrollTop = list.scrollHeight;
    }
    setText(find(".count", root), text("docs.console.count", { count: received }));
  }

  form.addEventListener("input", showForms);
  form.addEventListener("change", () => {
    if (client !== null) {
      close();
      open();
    }
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  connectButton.addEventListener("click", () => (client === null ? open() : close()));
  pauseButton.addEventListener("click", () => {
    paused = !paused;
    pauseButton.setAttribute("aria-pressed", String(paused));
  });
  find(".clear", root).addEventListener("click", () => {
    list.replaceChildren();
    received = 0;
    draw();
  });
  showForms();
  showState();
}

/** The valid values of an option. @param {Json} schema @returns {string[]} */
function valuesOf(schema) {
  const plain = schema.anyOf?.[0] ?? schema;
  return plain.items?.enum ?? plain.enum ?? [];
}

/**
 * A message in one line. The whole message is written when the line is opened.
 * @param {Json} message
 */
function messageItem(message) {
  const item = element("li");
  const details = element("details");
  const summary = element("summary", "", { lang: "en" });
  const what = message.frame?.frame ?? message.kind ?? message.state ?? message.through ?? "";
  summary.append(element("span", message.type, { class: "type" }), [message.station, what].filter((each) => each !== undefined && each !== "").join(" · "));
  details.append(summary);
  details.addEventListener("toggle", () => details.append(element("pre", JSON.stringify(message, null, 2), { tabindex: "0" })), { once: true });
  item.append(details);
  return item;
}
