/** The colours of the themes, read from the stylesheet of an open scene, so that they are written down once. */

const PROPERTIES = /** @type {const} */ (["--solid", "--text", "--accent", "--red", "--blue"]);
const SELECTOR = /^:root(?:\[data-theme="([\w-]+)"\])?$/;

/** @typedef {Record<string, string>} Colours  By custom property. */

/**
 * @param {Document} page  A scene.
 * @returns {Map<string, Colours>}  By theme; `""` has the values of themes that do not have their own.
 */
export function themeColours(page) {
  /** @type {Map<string, Colours>} */
  const themes = new Map();
  for (const sheet of page.styleSheets) {
    collect(sheet, themes);
  }
  return themes;
}

/**
 * @param {CSSStyleSheet} sheet
 * @param {Map<string, Colours>} themes
 */
function collect(sheet, themes) {
  for (const rule of sheet.cssRules) {
    const type = rule.constructor.name; // the rules belong to another window, so `instanceof` does not know them
    if (type === "CSSImportRule") {
      const { styleSheet } = /** @type {CSSImportRule} */ (rule);
      if (styleSheet !== null) {
        collect(styleSheet, themes);
      }
    } else if (type === "CSSStyleRule") {
      const { selectorText, style } = /** @type {CSSStyleRule} */ (rule);
      const found = SELECTOR.exec(selectorText);
      if (found !== null) {
        const colours = themes.get(found[1] ?? "") ?? {};
        for (const property of PROPERTIES) {
          const value = style.getPropertyValue(property).trim();
          if (value !== "") {
            colours[property] = value;
          }
        }
        themes.set(found[1] ?? "", colours);
      }
    }
  }
}
