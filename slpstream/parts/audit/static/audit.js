/**
 * The setups page, `/audit`: the setups that differ from the others, with the differences. It shows `/v1/audit` and loads it
 * again every few seconds. Values and findings are in English, as the daemon describes them.
 */

import { Api, ROOT, Status } from "../api.js";
import { clone, element, fill, find, setText } from "../dom.js";
import { addTexts, fillTexts, text } from "../texts/texts.js";
import { sleep } from "../timing.js";
import { takeToken } from "../token.js";

await addTexts(import.meta.url);

/**
 * @typedef {{name: string, title: string, text: string, port?: number, mark?: string}} Value
 * @typedef {{setup: string, name?: string, games: number, values?: Value[], differences?: number, unknown?: string}} Setup
 * @typedef {{kind: string, setups: string[], words: string, lasting?: boolean}} Finding
 * @typedef {{setups: Setup[], findings: Finding[]}} Audit
 */

const REFRESH_MS = 10_000;
const RETRY_MS = 3000;
const ONLY_DIFFERENCES = "#differences";

const api = new Api(takeToken());
const only = /** @type {HTMLInputElement} */ (find(".filter input"));
/** @type {Audit | null} */
let shown = null;

/** Loads and shows the audit for as long as the page is open. */
async function start() {
  for (;;) {
    let pauseMs = REFRESH_MS;
    if (!document.hidden || shown === null) {
      pauseMs = (await load()) ? REFRESH_MS : RETRY_MS;
    }
    await sleep(pauseMs * (0.85 + Math.random() * 0.3));
  }
}

/** Loads and shows the audit. Returns whether that succeeded. */
async function load() {
  try {
    const { status, body } = await api.get("v1/audit");
    if (status === Status.UNAUTHORISED) {
      showProblem(text("audit.no_token"), "#login");
      return false;
    }
    if (status === Status.NOT_FOUND) {
      showProblem(text("audit.not_here"));
      return false;
    }
    if (status !== Status.OK) {
      throw new Error(String(status));
    }
    shown = body;
    showProblem("");
    show();
    return true;
  } catch {
    showProblem(text("page.no_response"));
    return false;
  }
}

/**
 * @param {string} problem
 * @param {string} [fragment]  The part of the dashboard that solves the problem.
 */
function showProblem(problem, fragment = "") {
  find("p.loading").hidden = true;
  const root = find("body > .problem");
  root.hidden = problem === "";
  if (root.firstChild?.textContent !== problem) {
    root.textContent = problem;
    if (fragment !== "") {
      root.append(" ", element("a", text("login.log_in"), { href: new URL(fragment, ROOT).href }));
    }
  }
}

function show() {
  if (shown === null) {
    return;
  }
  find("main").hidden = false;
  const { setups, findings } = shown;
  const compared = setups.filter((setup) => !setup.unknown);
  const odd = setups.filter((setup) => setup.differences);
  setText(find(".count"), text("audit.count", { count: setups.length, odd: odd.length }));
  const differences = findings.filter(({ kind }) => kind !== "changed");
  const changes = findings.filter(({ kind }) => kind === "changed");
  fill(find(".differences"), differences, () => element("li"), (row, { words }) => setText(row, words));
  const equal = find(".equal");
  equal.hidden = differences.length > 0;
  setText(equal, text(compared.length < 2 ? "audit.nothing_to_compare" : "audit.equal", { count: compared.length }));
  find(".changes").hidden = changes.length === 0;
  fill(find(".changes ul"), changes, () => element("li"), (row, { words }) => setText(row, words));
  const listed = only.checked ? odd : setups;
  fill(find(".setups"), listed, () => clone("setup"), showSetup);
  find(".empty").hidden = listed.length > 0 || !only.checked;
}

/**
 * @param {HTMLElement} card
 * @param {Setup} setup
 */
function showSetup(card, setup) {
  const values = setup.values ?? [];
  const marked = values.filter(({ mark }) => mark);
  card.dataset.state = setup.unknown ? "unknown" : marked.length > 0 ? "differs" : "equal";
  const name = setup.name ?? setup.setup;
  if (find("h3", card).textContent !== name) {
    setText(find("h3", card), name);
    /** @type {HTMLDetailsElement} */ (find("details", card)).open = false;
  }
  setText(find(".state", card), setup.unknown || text(marked.length > 0 ? "audit.differs" : "audit.same", { count: marked.length }));
  fill(find(".marked", card), marked, () => element("li"), (row, value) => setText(row, `${titleOf(value)}: ${value.text}`));
  find("details", card).hidden = values.length === 0;
  const rows = values.flatMap((value) => [
    { tag: "dt", words: titleOf(value), odd: false },
    { tag: "dd", words: value.text, odd: Boolean(value.mark) },
  ]);
  const list = find("dl", card);
  if (list.dataset.shown !== JSON.stringify(rows)) {
    list.dataset.shown = JSON.stringify(rows);
    list.replaceChildren(...rows.map(({ tag, words, odd }) => element(tag, words, odd ? { class: "odd" } : {})));
  }
}

/** @param {Value} value */
function titleOf(value) {
  return value.port === undefined ? value.title : text("audit.on_port", { title: value.title, port: value.port });
}

fillTexts();
document.title = text("audit.title");
only.checked = location.hash === ONLY_DIFFERENCES;
only.addEventListener("change", () => {
  history.replaceState(history.state, "", only.checked ? ONLY_DIFFERENCES : location.pathname + location.search);
  show();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) {
    load();
  }
});
start();
