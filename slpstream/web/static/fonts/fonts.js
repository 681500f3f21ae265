/** Waiting for the fonts of `fonts.css`, so that a name is measured and shown in its final face. */

/** The weights of the condensed face that the pages use. */
const WEIGHTS = [500, 700];
/** After this time a page shows its texts in any available face, because a name matters more than its looks. */
const MAX_WAIT_MS = 3000;

/**
 * Waits until the fonts that a text needs are loaded, or for three seconds. Never rejects. Loaded fonts take no time, and
 * neither do characters that our fonts lack.
 * @param {string} text
 * @returns {Promise<void>}
 */
export async function loadFonts(text) {
  const families = '"slpstream Condensed", "slpstream Japanese"';
  const loaded = WEIGHTS.map((weight) => document.fonts.load(`${weight} 1em ${families}`, text).catch(() => []));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const givenUp = new Promise((resolve) => (timer = setTimeout(resolve, MAX_WAIT_MS)));
  await Promise.race([Promise.all(loaded), givenUp]);
  clearTimeout(timer);
}
