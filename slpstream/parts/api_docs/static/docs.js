/**
 * The reference of the API, `/docs`. It is made from `/openapi.json`, whose schemas are those of the daemon's own types, and
 * from `slpstream_types.js`, which has the types of the messages. Their descriptions are in English.
 *
 * One view is shown at a time: the console, an overview of a part, or a message, an endpoint or a type. The fragment of the
 * address names it.
 */

import { Api, ROOT, Status } from "../api.js";
import { element, find, setAttribute } from "../dom.js";
import { addTexts, fillTexts, text } from "../texts/texts.js";
import { sleep } from "../timing.js";
import { takeToken } from "../token.js";
import { setUpConsole } from "./console.js";
import { exampleOf, membersOf, typeText } from "./schemas.js";
import { fieldsOf, membersOfType, parseTypes, TYPE_NAME, typesNamedIn } from "./types.js";

await addTexts(import.meta.url);

/** @typedef {Record<string, any>} Json */

const RETRY_MS = 3000;

const api = new Api(takeToken());
const contents = find(".contents");

/** The body of an answer. Throws `Unauthorised`. @param {string} path */
async function load(path) {
  const { status, body } = await api.get(path);
  if (status === Status.UNAUTHORISED) {
    throw new Unauthorised();
  }
  return body;
}

class Unauthorised extends Error {}

/** Loads and shows everything, and retries until that succeeds. */
async function start() {
  for (;;) {
    try {
      const [document_, types, stations] = await Promise.all([
        load("openapi.json"),
        api.text("static/slpstream_types.js"),
        load("v1/stations"),
      ]);
      showProblem("");
      show(document_, types);
      offerDownload(document_);
      setUpConsole(find(".console"), { token: api.token, stream: document_["x-stream"], stations: stations.stations });
      find(".columns").classList.remove("loading");
      route();
      addEventListener("hashchange", () => route()?.focus());
      return;
    } catch (error) {
      if (error instanceof Unauthorised) {
        showProblem(text("docs.no_token"), "#login");
        return;
      }
      showProblem(text("page.no_response"));
      await sleep(RETRY_MS * (0.75 + Math.random() / 2));
    }
  }
}

/**
 * @param {string} problem
 * @param {string} [fragment]  The part of the dashboard that solves the problem.
 */
function showProblem(problem, fragment = "") {
  find("p.loading").hidden = true;
  const shown = find("body > .problem");
  shown.hidden = problem === "";
  shown.textContent = problem;
  if (fragment !== "") {
    shown.append(" ", element("a", text("login.log_in"), { href: new URL(fragment, ROOT).href }));
  }
}

/** Lets the link to the description work with a token, which links cannot send. @param {Json} description */
function offerDownload(description) {
  if (api.token !== undefined) {
    const file = new Blob([JSON.stringify(description)], { type: "application/json" });
    find("a.openapi").setAttribute("href", URL.createObjectURL(file));
  }
}

/**
 * @param {Json} description  The body of `/openapi.json`.
 * @param {string} source     The text of `slpstream_types.js`.
 */
function show(description, source) {
  find(".version").textContent = description.info.version;
  contents.replaceChildren();
  document.querySelectorAll(".view.item").forEach((view) => view.remove());
  addPart("console");
  showStream(description["x-stream"], parseTypes(source));
  showEndpoints(description);
  showSchemas(description.components.schemas);
}

/**
 * Shows the view that the fragment names, and returns its heading.
 * @returns {HTMLElement | null}
 */
function route() {
  const views = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".view")]);
  const wanted = decodeURIComponent(location.hash.slice(1));
  const shown = views.find(({ id }) => id === wanted) ?? views[0];
  views.forEach((view) => (view.hidden = view !== shown));
  for (const link of contents.querySelectorAll("a")) {
    setAttribute(link, "aria-current", String(link.hash === `#${shown.id}`));
  }
  for (const list of contents.querySelectorAll("ul")) {
    list.hidden = list.querySelector("[aria-current=true]") === null && list.previousElementSibling?.getAttribute("aria-current") !== "true";
  }
  const link = /** @type {HTMLElement} */ (contents.querySelector("[aria-current=true]"));
  contents.scrollTop = link.offsetTop - contents.offsetTop - contents.clientHeight / 2;
  scrollTo(0, 0);
  return shown.querySelector("h2");
}

/**
 * Adds a part to the contents, and the list of its items.
 * @param {string} id
 */
function addPart(id) {
  contents.append(element("a", find(`#${id} > h2`).textContent ?? "", { class: "part", href: `#${id}` }), element("ul"));
}

/**
 * Adds the view of an item of the last part.
 * @param {string} id
 * @param {string} title
 * @param {...(Node | string)} heading
 */
function addItem(id, title, ...heading) {
  const item = element("li");
  item.append(element("a", title, { href: `#${id}` }));
  contents.lastElementChild?.append(item);
  const view = element("section", "", { class: "view item", id, "aria-labelledby": `${id}-title` });
  const head = element("h2", "", { id: `${id}-title`, tabindex: "-1" });
  head.append(...heading);
  view.append(head);
  find("main").append(view);
  return view;
}

/**
 * @param {Json} stream
 * @param {ReturnType<typeof parseTypes>} types
 */
function showStream(stream, types) {
  addPart("stream");
  const { host, protocol } = ROOT;
  const address = `${protocol === "https:" ? "wss" : "ws"}://${host}${ROOT.pathname}${stream.path.slice(1)}`;
  find("#stream > .body").replaceChildren(
    english("p", stream.summary),
    element("pre", `${address}?station=*&topics=game,event`, { tabindex: "0" }),
    table(text("docs.options"), ["docs.name", "docs.type", "docs.default", "docs.description"], stream.options.map((/** @type {Json} */ option) => [
      code(option.name),
      code(typeText(option.schema)),
      option.schema.default == null ? "" : code(JSON.stringify(option.schema.default)),
      english("span", option.description),
    ])),
    table(text("docs.subprotocols"), ["docs.name", "docs.description"], stream.subprotocols.map((/** @type {Json} */ each) => [
      code(each.name),
      english("span", each.description),
    ])),
    table(text("docs.messages"), ["docs.type", "docs.description"], stream.messages.map((/** @type {Json} */ { type, payload }) => [
      linked(type, `message-${type}`),
      english("span", payload),
    ])),
    table(text("docs.close_codes"), ["docs.code", "docs.description"], stream.closeCodes.map((/** @type {Json} */ each) => [
      code(String(each.code)),
      english("span", each.description),
    ])),
  );
  const fields = stream.messages.flatMap((/** @type {Json} */ { type }) => fieldsOf(types, type));
  const named = typesNamedIn(types, fields);
  stream.messages.forEach((/** @type {Json} */ message) => addMessage(message, types, named));
  for (const name of named) {
    const view = addItem(`message-type-${name}`, name, code(name));
    view.append(english("p", types.get(name)?.description ?? ""), fieldTable(membersOfType(types, name), named));
  }
}

/**
 * @param {ReturnType<typeof fieldsOf>} fields
 * @param {Set<string>} named  The types that have a view.
 */
function fieldTable(fields, named) {
  return table(text("docs.fields"), ["docs.name", "docs.type", "docs.description"], fields.map(({ name, optional, kind, description }) => [
    code(optional ? `${name}?` : name),
    withLinks(kind, (word) => (named.has(word) ? `message-type-${word}` : null)),
    english("span", description),
  ]));
}

/**
 * @param {Json} message
 * @param {ReturnType<typeof parseTypes>} types
 * @param {Set<string>} named  The types that have a view.
 */
function addMessage({ type, topic, droppable, payload }, types, named) {
  const facts = [topic === undefined ? text("docs.status_message") : text("docs.topic", { topic }), droppable ? text("docs.droppable") : ""];
  addItem(`message-${type}`, type, code(type)).append(
    element("p", facts.filter(Boolean).join(" · "), { class: "quiet" }),
    english("p", payload),
    fieldTable(fieldsOf(types, type), named),
  );
}

/** @param {Json} description */
function showEndpoints({ paths, components }) {
  addPart("http");
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  find("#http > .body").replaceChildren(
    table(text("docs.endpoints"), ["docs.endpoint", "docs.description"], operations.map(({ path, method, operation }) => [
      linked(`${method} ${path}`, idOf(operation)),
      english("span", operation.summary),
    ])),
  );
  operations.forEach(({ path, method, operation }) => addEndpoint(path, method, operation, components.schemas));
}

/** The id of the view of an endpoint. @param {Json} operation */
const idOf = (operation) => `operation-${operation.operationId}`;

/**
 * @param {string} path
 * @param {string} method
 * @param {Json} operation
 * @param {Json} schemas
 */
function addEndpoint(path, method, operation, schemas) {
  const shown = element("span", method, { class: "method", "data-method": method });
  const section = addItem(idOf(operation), `${method} ${path}`, shown, " ", code(path));
  section.append(english("p", operation.summary));
  if (operation.parameters.length > 0) {
    section.append(table(text("docs.parameters"), ["docs.name", "docs.in", "docs.type", "docs.description"], operation.parameters.map(
      (/** @type {Json} */ each) => [
        code(each.required ? each.name : `${each.name}?`),
        text(`docs.in.${each.in}`),
        code(typeText(each.schema)),
        english("span", each.description ?? each.schema.description ?? ""),
      ],
    )));
  }
  const [body] = Object.values(operation.requestBody?.content ?? {});
  if (body !== undefined) {
    section.append(example(text("docs.body"), body.schema, schemas));
  }
  section.append(table(text("docs.responses"), ["docs.code", "docs.type", "docs.description"], Object.entries(operation.responses).map(
    ([status, response]) => {
      const [[media, content] = ["", {}]] = Object.entries(/** @type {Json} */ (response.content ?? {}));
      return [code(status), content.schema === undefined ? code(media) : typeLink(content.schema), english("span", response.description ?? "")];
    },
  )));
  section.append(element("pre", requestText(path, method, body?.schema, schemas), { tabindex: "0", "aria-label": text("docs.request") }));
  const schema = operation.responses["200"]?.content?.["application/json"]?.schema;
  if (schema !== undefined) {
    section.append(example(text("docs.response"), schema, schemas));
  }
}

/**
 * A command that sends the request.
 * @param {string} path
 * @param {string} method
 * @param {Json | undefined} body
 * @param {Json} schemas
 */
function requestText(path, method, body, schemas) {
  const url = new URL(path.slice(1), ROOT).href.replaceAll("%7B", "{").replaceAll("%7D", "}");
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method]), `'${url}'`];
  if (body !== undefined) {
    parts.push("-H 'content-type: application/json'", `-d '${JSON.stringify(exampleOf(body, schemas))}'`);
  }
  return parts.join(" ");
}

/**
 * An example of a value, folded.
 * @param {string} title
 * @param {Json} schema
 * @param {Json} schemas
 */
function example(title, schema, schemas) {
  const details = element("details");
  details.append(
    element("summary", title),
    element("pre", JSON.stringify(exampleOf(schema, schemas), null, 2), { tabindex: "0", "aria-label": title }),
  );
  return details;
}

/** @param {Json} schemas */
function showSchemas(schemas) {
  addPart("types");
  find("#types > .body").replaceChildren(
    table(text("docs.types"), ["docs.type", "docs.description"], Object.entries(schemas).map(([name, schema]) => [
      linked(name, `type-${name}`),
      english("span", schema.description ?? ""),
    ])),
  );
  for (const [name, schema] of Object.entries(schemas)) {
    const rows = membersOf(schema).map(({ name: member, required, schema: kind }) => [
      code(required ? member : `${member}?`),
      typeLink(kind),
      english("span", kind.description ?? ""),
    ]);
    const fields = table(text("docs.fields"), ["docs.name", "docs.type", "docs.description"], rows);
    addItem(`type-${name}`, name, code(name)).append(english("p", schema.description ?? ""), fields);
  }
}

/**
 * A link to a view.
 * @param {string} name
 * @param {string} id
 */
function linked(name, id) {
  const link = element("a", "", { href: `#${id}` });
  link.append(code(name));
  return link;
}

/** The type of a value, with a link if it has a name. @param {Json} schema */
function typeLink(schema) {
  return withLinks(typeText(schema), (word) => `type-${word}`);
}

/**
 * A type in words, with a link for each name of a type that has a view.
 * @param {string} words
 * @param {(name: string) => string | null} idOfType
 */
function withLinks(words, idOfType) {
  const shown = code("");
  shown.append(...words.split(TYPE_NAME).map((word, i) => {
    const id = i % 2 === 1 ? idOfType(word) : null;
    return id === null ? word : element("a", word, { href: `#${id}` });
  }));
  return shown;
}

/**
 * @param {string} caption
 * @param {string[]} heads  Keys of texts.
 * @param {(string | HTMLElement)[][]} rows
 */
function table(caption, heads, rows) {
  const box = element("div", "", { class: "table", tabindex: "0", role: "group", "aria-label": caption });
  if (rows.length === 0) {
    box.hidden = true;
    return box;
  }
  const shown = element("table");
  const head = element("tr");
  head.append(...heads.map((key) => element("th", text(key), { scope: "col" })));
  const top = element("thead");
  top.append(head);
  const body = element("tbody");
  for (const cells of rows) {
    const row = element("tr");
    row.append(...cells.map((cell, i) => {
      const field = i === 0 ? element("th", "", { scope: "row" }) : element("td");
      field.append(cell);
      return field;
    }));
    body.append(row);
  }
  shown.append(element("caption", caption), top, body);
  box.append(shown);
  return box;
}

/** @param {string} value */
function code(value) {
  return element("code", value, { lang: "en" });
}

/**
 * A text of the description, in which backquotes mark code.
 * @param {string} tag
 * @param {string} value
 */
function english(tag, value) {
  const shown = element(tag, "", { lang: "en" });
  shown.append(...value.split("`").map((part, i) => (i % 2 === 1 ? code(part) : part)));
  return shown;
}

fillTexts();
document.title = text("docs.title");
start();
