/** The footer: links to the API, which need the token, and the language of the pages. */

import { element, find } from "../dom.js";
import { LANGUAGES, LANGUAGE_NAMES, rememberLanguage, rememberedLanguage, text } from "../texts/texts.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */
/** @typedef {import("../texts/texts.js").Language} Language */

/** @param {Daemon} daemon */
export function setUpFooter({ api }) {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-needs-token]"))) {
    if (api.token !== undefined) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        open(api, link.href);
      });
    }
  }
  setUpLanguage(/** @type {HTMLSelectElement} */ (find(".language select")));
}

/**
 * Opens a page of the API. Links cannot send a token, and in the address it would be visible.
 * @param {import("../api.js").Api} api
 * @param {string} url
 */
async function open(api, url) {
  try {
    const response = await api.response(url);
    const [type] = (response.headers.get("content-type") ?? "text/plain").split(";");
    const plain = type === "text/plain" ? "text/plain; charset=utf-8" : type;
    location.href = URL.createObjectURL(new Blob([await response.blob()], { type: plain }));
  } catch {
    // The health of the daemon is shown elsewhere.
  }
}

/** @param {HTMLSelectElement} choice */
function setUpLanguage(choice) {
  choice.append(element("option", text("footer.browsers_language"), { value: "" }));
  for (const each of LANGUAGES) {
    choice.append(element("option", LANGUAGE_NAMES[each], { value: each, lang: each }));
  }
  choice.value = new URLSearchParams(location.search).get("lang")?.slice(0, 2).toLowerCase() ?? rememberedLanguage() ?? "";
  choice.addEventListener("change", () => {
    rememberLanguage(choice.value === "" ? null : /** @type {Language} */ (choice.value));
    const url = new URL(location.href);
    url.searchParams.delete("lang"); // it would take precedence over the choice
    history.replaceState(null, "", url);
    location.reload();
  });
}
