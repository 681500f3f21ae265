/**
 * The commentary of a station, `/commentary/STATION`: what happens in its games, in sentences. Screen readers read each one
 * when it comes, and other readers can have the browser read them aloud.
 */

import { Api, ROOT, Status } from "../api.js";
import { element, find, setText } from "../dom.js";
import { addTexts, fillTexts, language, text } from "../texts/texts.js";
import { sleep } from "../timing.js";
import { takeToken } from "../token.js";

await addTexts(import.meta.url);

const RETRY_MS = 3000;
const SENTENCES = 200;

const odds = new URLSearchParams(location.search).get("odds") === "1" ? "&odds=1" : "";
const station = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
const api = new Api(takeToken());
const list = find(".sentences");
const aloud = /** @type {HTMLInputElement} */ (find(".aloud"));

/** Shows sentences for as long as the page is open. */
async function start() {
  for (;;) {
    try {
      await listen();
    } catch {
      showProblem(text("page.no_response"));
    }
    await sleep(RETRY_MS);
  }
}

/** Shows sentences until the response ends. */
async function listen() {
  const path = `v1/stations/${encodeURIComponent(station)}/commentary?format=text&lang=${language}${odds}`;
  // A signal without a timeout, because the response lasts as long as the station.
  const response = await api.response(path, { signal: new AbortController().signal });
  if (response.status === Status.UNAUTHORISED) {
    showProblem(text("commentary.no_token"), "#login");
    return;
  }
  if (response.status !== Status.OK || response.body === null) {
    showProblem(text(response.status === Status.NOT_FOUND ? "commentary.no_station" : "page.no_response"));
    return;
  }
  showProblem("");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    lines.filter((line) => line !== "").forEach(show);
  }
}

/** @param {string} sentence */
function show(sentence) {
  const isAtEnd = window.innerHeight + window.scrollY >= document.body.scrollHeight - 1;
  list.append(element("li", sentence));
  while (list.childElementCount > SENTENCES) {
    list.firstElementChild?.remove();
  }
  if (isAtEnd) {
    window.scrollTo(0, document.body.scrollHeight);
  }
  if (aloud.checked) {
    const utterance = new SpeechSynthesisUtterance(sentence);
    utterance.lang = language;
    speechSynthesis.speak(utterance);
  }
}

/**
 * @param {string} problem
 * @param {string} [fragment]  The part of the dashboard that solves the problem.
 */
function showProblem(problem, fragment = "") {
  const root = find("body > .problem");
  root.hidden = problem === "";
  setText(root, problem);
  if (fragment !== "") {
    root.append(" ", element("a", text("login.log_in"), { href: new URL(fragment, ROOT).href }));
  }
}

fillTexts();
document.documentElement.lang = language;
document.title = text("commentary.page", { station });
setText(find("h1"), text("commentary.heading", { station }));
/** @type {HTMLElement} */ (aloud.parentElement).hidden = !("speechSynthesis" in window);
aloud.addEventListener("change", () => {
  if (!aloud.checked) {
    speechSynthesis.cancel();
  }
});
await start();
