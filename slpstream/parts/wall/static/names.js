/**
 * Fits names into their places: each is as large as its lines allow. Where a name is too long for them, its sponsor is left out,
 * and then the end of it. Words are not broken.
 */

/** Sizes relative to that of the stylesheet. */
const SIZES = Object.freeze([1, 0.88, 0.76]);

/**
 * Shows a name. What is before the last bar is the sponsor.
 * @param {HTMLElement} element
 * @param {string} name
 */
export function showName(element, name) {
  const end = name.lastIndexOf(" | ");
  const sponsor = document.createElement("span");
  sponsor.className = "sponsor";
  sponsor.textContent = name.slice(0, end + 3);
  element.replaceChildren(...(end > 0 ? [sponsor, name.slice(end + 3)] : [name]));
}

/**
 * Sets the size of each name so that it fits. All are measured together, so the page is laid out once for each size, not once
 * for each name.
 * @param {readonly HTMLElement[]} names  Shown elements with `--lines` and a `line-height` that is a number.
 */
export function fitNames(names) {
  const hasSponsor = (/** @type {HTMLElement} */ name) => name.querySelector(".sponsor") !== null;
  const tooLong = resize(names, false);
  const stillTooLong = resize(tooLong.filter(hasSponsor), true);
  for (const name of [...stillTooLong, ...tooLong.filter((each) => !hasSponsor(each))]) {
    name.classList.add("cut");
  }
}

/**
 * Sets the size of each name, and returns those that are too long for each size.
 * @param {readonly HTMLElement[]} names
 * @param {boolean} isShort  Whether they have no sponsors.
 */
function resize(names, isShort) {
  let left = [...names];
  for (const size of SIZES) {
    for (const name of left) {
      name.style.setProperty("--fit", String(size));
      name.classList.toggle("short", isShort);
      name.classList.remove("cut");
    }
    left = left.filter((name) => !fits(name));
  }
  return left;
}

/** @param {HTMLElement} name */
function fits(name) {
  if (name.scrollWidth > name.clientWidth + 1) {
    return false;
  }
  const style = getComputedStyle(name);
  const line = parseFloat(style.lineHeight) || 1.2 * parseFloat(style.fontSize);
  return name.scrollHeight <= Number(style.getPropertyValue("--lines")) * line + 2;
}
