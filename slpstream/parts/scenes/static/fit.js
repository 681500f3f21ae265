/**
 * Fits texts into the width of their boxes by measuring how they are drawn.
 *
 * A text that is too wide is set smaller. If it would become too small, it is set in two lines, of the largest size that
 * fits. The browser breaks lines between graphemes, so that no emoji and no accent is torn apart.
 */

/** Texts that would have to be smaller than this share are set in two lines. */
const MIN_ONE_LINE = 0.62;
const MIN_SHARE = 0.16;
const PRECISION = 0.01;
const MAX_TRIES = 4;

/** @type {ResizeObserver | null} */
let observer = null;
/** @type {Set<HTMLElement>} */
const boxes = new Set();

/**
 * Fits a text now, and after each change of its box or of the fonts. The size of the box must not depend on the text. The box
 * has one inline child with the text.
 * @param {HTMLElement} box
 */
export function fit(box) {
  if (!boxes.has(box)) {
    boxes.add(box);
    observer ??= new ResizeObserver((entries) => entries.forEach(({ target }) => fitNow(/** @type {HTMLElement} */ (target))));
    observer.observe(box);
  }
  fitNow(box);
}

/** Fits all texts again, because the fonts have changed. */
export function fitAll() {
  for (const box of boxes) {
    if (box.isConnected) {
      fitNow(box);
    } else {
      boxes.delete(box);
      observer?.unobserve(box);
    }
  }
}

/** @param {HTMLElement} box */
function fitNow(box) {
  const content = /** @type {HTMLElement | null} */ (box.firstElementChild);
  if (content === null || box.clientWidth === 0) {
    return;
  }
  const before = { share: box.style.getPropertyValue("--fit"), twoLines: box.classList.contains("two-lines") };
  // A box can be as wide as its text, up to a maximum, so it is measured with the text in its full size.
  box.classList.remove("two-lines");
  box.style.setProperty("--fit", "1");
  const { clientWidth: width, clientHeight: height } = box;
  const natural = content.getBoundingClientRect().width;
  const key = `${content.textContent}/${width}/${height}/${natural}`;
  if (box.dataset.fitted === key) {
    box.style.setProperty("--fit", before.share);
    box.classList.toggle("two-lines", before.twoLines);
    return;
  }
  box.dataset.fitted = key;
  if (natural <= width + 0.5) {
    return;
  }
  // Where the widths of letters are rounded, a text does not become narrower by quite the share of its size.
  for (let [tries, share] = [0, (width - 1) / natural]; tries < MAX_TRIES && share >= MIN_ONE_LINE; tries++) {
    box.style.setProperty("--fit", share.toFixed(3));
    const drawn = content.getBoundingClientRect().width;
    if (drawn <= width + 0.5) {
      return;
    }
    share *= (width - 1) / drawn;
  }
  box.classList.add("two-lines");
  let [low, high] = [MIN_SHARE, MIN_ONE_LINE];
  while (high - low > PRECISION) {
    const middle = (low + high) / 2;
    box.style.setProperty("--fit", middle.toFixed(3));
    const drawn = content.getBoundingClientRect();
    if (content.scrollWidth <= width + 0.5 && drawn.height <= height + 0.5) {
      low = middle;
    } else {
      high = middle;
    }
  }
  box.style.setProperty("--fit", low.toFixed(3));
}

document.fonts?.addEventListener?.("loadingdone", fitAll);
