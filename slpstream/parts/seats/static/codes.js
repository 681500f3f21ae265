/** The codes of all stations, for operators to print, and to replace when one has fallen into the wrong hands. */

import { Api, Status } from "../api.js";
import { element, find } from "../dom.js";
import { addTexts, fillTexts, text } from "../texts/texts.js";
import { takeToken } from "../token.js";

await addTexts(import.meta.url);

/**
 * @typedef {object} Codes
 * @property {string} address
 * @property {"configuration" | "machine" | "loopback"} addressFrom
 * @property {{station: string, name: string, url: string}[]} codes
 */

const PATH = "v1/seat-codes";

const api = new Api(takeToken());

/** @param {string} words */
function showProblem(words) {
  find(".problem").textContent = words;
  find(".problem").hidden = words === "";
}

/** @param {Promise<import("../api.js").Answer>} answer  To a request for the codes. */
async function show(answer) {
  try {
    const { status, body } = await answer;
    if (status !== Status.OK) {
      showProblem(text(status === Status.CONFLICT ? "codes.off" : "codes.failed"));
      return;
    }
    /** @type {Codes} */
    const { address, addressFrom, codes } = body;
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
  const code = await api.text(`${PATH}/${encodeURIComponent(station)}`);
  const src = `data:image/svg+xml,${encodeURIComponent(code)}`;
  const picture = element("img", "", { src, alt: text("codes.scan") });
  const item = element("li", "", { class: "code", "data-station": station });
  item.append(element("h2", name), picture, element("p", text("codes.scan")));
  return item;
}

find(".print").addEventListener("click", () => print());
find(".renew").addEventListener("click", () => {
  if (confirm(text("codes.renew_really"))) {
    show(api.post(PATH, {}));
  }
});
fillTexts();
document.title = text("codes.page");
show(api.get(PATH));
