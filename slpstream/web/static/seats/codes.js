/** The codes of all stations, for operators: to be printed, and replaced when one has got into the wrong hands. */

import { fillTexts, text } from "../texts/texts.js";
import { takeToken } from "../token.js";

/**
 * @typedef {object} Codes
 * @property {string} address
 * @property {"configuration" | "machine" | "loopback"} addressFrom
 * @property {{station: string, name: string, url: string}[]} codes
 */

const PATH = "v1/seat-codes";
const CONFLICT = 409;

const base = new URL("../..", import.meta.url);
const token = takeToken();

/** @type {(selector: string) => HTMLElement} */
const find = (selector) => /** @type {HTMLElement} */ (document.querySelector(selector));

/**
 * @param {string} path
 * @param {RequestInit} [request]
 */
function ask(path, request = {}) {
  return fetch(new URL(path, base), {
    ...request,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...request.headers },
  });
}

/** @param {string} words */
function showProblem(words) {
  find(".problem").textContent = words;
  find(".problem").hidden = words === "";
}

/** @param {Promise<Response>} answer  To a request for the codes. */
async function show(answer) {
  try {
    const response = await answer;
    if (!response.ok) {
      showProblem(text(response.status === CONFLICT ? "codes.off" : "codes.failed"));
      return;
    }
    /** @type {Codes} */
    const { address, addressFrom, codes } = await response.json();
    const where = find(".address");
    where.textContent = text("codes.address", { address, note: text(`codes.from_${addressFrom}`) });
    where.classList.toggle("loopback", addressFrom === "loopback");
    where.hidden = false;
    find(".acts").hidden = codes.length === 0;
    find(".codes").replaceChildren(...(await Promise.all(codes.map(({ station, name }) => codeItem(station, name)))));
    showProblem(codes.length === 0 ? text("codes.none") : "");
  } catch {
    showProblem(text("codes.failed"));
  }
}

/**
 * @param {string} station
 * @param {string} name
 */
async function codeItem(station, name) {
  const response = await ask(`${PATH}/${encodeURIComponent(station)}`);
  const picture = document.createElement("img");
  picture.src = `data:image/svg+xml,${encodeURIComponent(await response.text())}`;
  picture.alt = text("codes.scan");
  const title = document.createElement("h2");
  title.textContent = name;
  const advice = document.createElement("p");
  advice.textContent = text("codes.scan");
  const item = document.createElement("li");
  item.className = "code";
  item.dataset.station = station;
  item.append(title, picture, advice);
  return item;
}

find(".print").addEventListener("click", () => print());
find(".renew").addEventListener("click", () => {
  if (confirm(text("codes.renew_really"))) {
    show(ask(PATH, { method: "POST", body: "{}", headers: { "content-type": "application/json" } }));
  }
});
fillTexts();
document.title = text("codes.page");
show(ask(PATH));
