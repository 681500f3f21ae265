/** Fits names without cutting them: each is as large as two lines of its space allow. */

/** Sizes relative to that of the stylesheet. A name that needs more than two lines of the smallest has as many as it needs. */
const SIZES = Object.freeze([1, 0.9, 0.8, 0.72, 0.64]);
const MAX_LINES = 2;

/**
 * Sets the size of each name so that it fits. All are measured together, so the page is laid out once for each size, not once
 * for each name.
 * @param {readonly HTMLElement[]} names  Shown elements with a `line-height` that is a number.
 */
export function fitNames(names) {
  let left = [...names];
  for (const [step, size] of SIZES.entries()) {
    for (const name of left) {
      name.style.setProperty("--fit", String(size));
      name.classList.toggle("broken", step === SIZES.length - 1);
    }
    left = left.filter((name) => !fits(name));
    if (left.length === 0) {
      return;
    }
  }
}

/** @param {HTMLElement} name */
function fits(name) {
  if (name.scrollWidth > name.clientWidth + 1) {
    return false;
  }
  const { fontSize, lineHeight } = getComputedStyle(name);
  const line = parseFloat(lineHeight) || 1.2 * parseFloat(fontSize);
  return name.scrollHeight <= MAX_LINES * line + 2;
}
