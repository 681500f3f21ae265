/** Functions for elements, used by all pages. */

/** @type {(selector: string, root?: ParentNode) => HTMLElement} */
export const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

/**
 * A copy of the element in a template.
 * @param {string} id
 */
export function clone(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
}

/**
 * Sets the text if it differs. Pages with 16 stations change many times a second, so needless writes would be costly, and
 * screen readers would announce them.
 * @param {HTMLElement} element
 * @param {string} value
 */
export function setText(element, value) {
  const node = element.firstChild;
  if (node instanceof Text && element.lastChild === node) {
    if (node.data !== value) {
      node.data = value;
    }
  } else if (element.textContent !== value) {
    element.textContent = value;
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
export function setData(element, name, value) {
  if (element.dataset[name] !== value) {
    element.dataset[name] = value;
  }
}

/**
 * Gives `parent` one child per value, in order. Children are reused.
 * @template T
 * @param {HTMLElement} parent
 * @param {readonly T[]} values
 * @param {() => HTMLElement} make
 * @param {(element: HTMLElement, value: T, index: number) => void} show
 */
export function fill(parent, values, make, show) {
  while (parent.children.length > values.length) {
    parent.lastElementChild?.remove();
  }
  while (parent.children.length < values.length) {
    parent.append(make());
  }
  values.forEach((value, i) => show(/** @type {HTMLElement} */ (parent.children[i]), value, i));
}

/**
 * Loads a stylesheet, and waits for it. A page works without it if it cannot be loaded. In a combined script, nothing is to be
 * loaded: the combined stylesheet of the page has those that its modules name.
 * @param {ImportMeta & {hasStylesheets?: boolean}} meta  The module's `import.meta`.
 * @param {string} file  Relative to the module.
 */
export async function loadStylesheet(meta, file) {
  if (meta.hasStylesheets) {
    return;
  }
  const link = element("link", "", { rel: "stylesheet", href: new URL(file, meta.url).href });
  await new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}

/**
 * An element with a text and attributes.
 * @param {string} tag
 * @param {string} [text]
 * @param {Record<string, string>} [attributes]
 */
export function element(tag, text = "", attributes = {}) {
  const created = document.createElement(tag);
  created.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  return created;
}

/**
 * An element with classes and children. Texts go into text nodes.
 * @param {string} kind  Tag and classes: `p.name.large`.
 * @param {...(Node | string)} children
 */
export function make(kind, ...children) {
  const [tag, ...classes] = kind.split(".");
  const created = document.createElement(tag);
  if (classes.length > 0) {
    created.className = classes.join(" ");
  }
  created.append(...children);
  return created;
}
