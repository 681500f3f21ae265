/** The places of the tiles. It does not touch the page. */

/** The captures of the layout `quad`. */
export const QUAD_STATIONS = 4;

/**
 * By number of tiles: how many of twelve columns the large tile has, and how many small ones are right of it and below it.
 * @type {Record<number, {large: number, right: number, below: number}>}
 */
const PLACES = {
  1: { large: 12, right: 0, below: 0 },
  2: { large: 9, right: 1, below: 0 },
  3: { large: 9, right: 2, below: 0 },
  4: { large: 9, right: 3, below: 0 },
  5: { large: 9, right: 4, below: 0 },
  6: { large: 8, right: 2, below: 3 },
  7: { large: 9, right: 3, below: 3 },
  8: { large: 9, right: 3, below: 4 },
};
const COLUMNS = 12;
/** Rows of the grid. Every number of tiles in a column divides it. */
const ROWS = 12;

/**
 * The grid area of each tile. A tile other than the first one has one small place, where it always is unless it is large; the
 * first one has the place of the large tile. So at most three tiles move when the choice changes, and the places do not depend
 * on earlier choices.
 * @param {number} count
 * @param {number} large  Index of the large tile.
 * @returns {{isLarge: boolean, area: string}[]}
 */
export function areasOf(count, large) {
  const places = smallPlaces(count);
  return Array.from({ length: count }, (_, i) => {
    if (i === large) {
      return { isLarge: true, area: largePlace(count) };
    }
    return { isLarge: false, area: places[(i === 0 ? large : i) - 1] };
  });
}

/** @param {number} count */
function largePlace(count) {
  const { large, right, below } = PLACES[count];
  return `1 / 1 / ${below > 0 ? heightOf(right) + 1 : ROWS + 1} / ${large + 1}`;
}

/** @param {number} count */
function smallPlaces(count) {
  const { large, right, below } = PLACES[count];
  const high = below > 0 ? heightOf(right) / right : count === 2 ? ROWS / 3 : ROWS / right;
  const from = count === 2 ? (ROWS - high) / 2 : 0; // one tile in the middle of the column
  const wide = COLUMNS / below;
  return [
    ...Array.from({ length: right }, (_, i) => `${from + i * high + 1} / ${large + 1} / ${from + (i + 1) * high + 1} / ${COLUMNS + 1}`),
    ...Array.from({ length: below }, (_, i) => `${heightOf(right) + 1} / ${i * wide + 1} / ${ROWS + 1} / ${(i + 1) * wide + 1}`),
  ];
}

/** Height of the large tile in rows, if a row of tiles as high as those on the right is below it. @param {number} right */
function heightOf(right) {
  return (ROWS * right) / (right + 1);
}
