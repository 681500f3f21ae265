/**
 * Fits texts into the width of their boxes by measuring how they are drawn.
 *
 * A text that is too wide is set smaller. If it would become too small, it is set in two lines, if they can be larger. Words
 * stay whole, in Japanese those between middle dots and spaces, as long as they fit in the smallest size. If one does not, the
 * browser breaks it between graphemes, so that no emoji and no accent is torn apart.
 */

/** Texts that would have to be smaller than this share are set in two lines. */
const MIN_ONE_LINE = 0.62;
/** Words that would have to be smaller than this share are broken. */
const MIN_WHOLE = 0.3;
const MIN_SHARE = 0.16;
/** One line stays if it has at least this share of the size of two lines. */
const MIN_GAIN = 0.85;
const PRECISION = 0.01;
const MAX_TRIES = 4;
/** The classes of a text in two lines. */
const LINES = ["two-lines", "torn"];

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
  const before = { share: box.style.getPropertyValue("--fit"), classes: LINES.filter((name) => box.classList.contains(name)) };
  // A box can be as wide as its text, up to a maximum, so it is measured with the text in its full size.
  box.classList.remove(...LINES);
  box.style.setProperty("--fit", "1");
  const { clientWidth: width, clientHeight: height } = box;
  const natural = content.getBoundingClientRect().width;
  const key = `${content.textContent}/${width}/${height}/${natural}`;
  if (box.dataset.fitted === key) {
    box.style.setProperty("--fit", before.share);
    box.classList.add(...before.classes);
    return;
  }
  box.dataset.fitted = key;
  if (natural <= width + 0.5) {
    return;
  }
  const inOneLine = (/** @type {number} */ minShare) => {
    // Where the widths of letters are rounded, a text does not become narrower by quite the share of its size.
    for (let [tries, share] = [0, (width - 1) / natural]; tries < MAX_TRIES && share >= minShare; tries++) {
      box.style.setProperty("--fit", share.toFixed(3));
      const drawn = content.getBoundingClientRect().width;
      if (drawn <= width + 0.5) {
        return true;
      }
      share *= (width - 1) / drawn;
    }
    return false;
  };
  if (inOneLine(MIN_ONE_LINE)) {
    return;
  }
  const fits = (/** @type {number} */ share) => {
    box.style.setProperty("--fit", share.toFixed(3));
    return content.scrollWidth <= width + 0.5 && content.getBoundingClientRect().height <= height + 0.5;
  };
  box.classList.add("two-lines");
  box.classList.toggle("torn", !fits(MIN_WHOLE));
  let [low, high] = [box.classList.contains("torn") ? MIN_SHARE : MIN_WHOLE, MIN_ONE_LINE];
  while (high - low > PRECISION) {
    const middle = (low + high) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  // Two lines of a low box are hardly larger than one, or even smaller.
  const classes = LINES.filter((name) => box.classList.contains(name));
  box.classList.remove(...LINES);
  if (!inOneLine(low * MIN_GAIN)) {
    box.classList.add(...classes);
    box.style.setProperty("--fit", low.toFixed(3));
  }
}

document.fonts?.addEventListener?.("loadingdone", fitAll);
