/** QR codes for addresses: bytes, error correction of the level M, versions 1 to 10. ISO/IEC 18004 has the terms and tables. */

/** By version, from 1: the error correction codewords of a block, and the data codewords of each block. */
const BLOCKS = /** @type {[number, number[]][]} */ ([
  [10, [16]],
  [16, [28]],
  [26, [44]],
  [18, [32, 32]],
  [24, [43, 43]],
  [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]],
  [22, [38, 38, 39, 39]],
  [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
]);
const SVG = "http://www.w3.org/2000/svg";
/** Width of the empty margin that scanners need. */
const MARGIN = 4;
const LEVEL_M = 0;
const BYTE_MODE = 4;
const PADDING = [0xec, 0x11];
const MASKS = /** @type {((row: number, column: number) => boolean)[]} */ ([
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (_, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
]);
/** Finder-like patterns that a mask should avoid. */
const FINDERS = ["10111010000", "00001011101"];

/**
 * Fills a box with a QR code. It stays hidden if the text is too long.
 * @param {HTMLElement} box
 * @param {string} text
 */
export function drawCode(box, text) {
  const code = qrCode(text);
  box.hidden = code === null;
  if (code !== null) {
    const [svg, path] = [document.createElementNS(SVG, "svg"), document.createElementNS(SVG, "path")];
    const size = code.length + 2 * MARGIN;
    svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
    const dark = code.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : "")));
    path.setAttribute("d", dark.join(""));
    svg.append(path);
    box.replaceChildren(svg);
  }
}

/**
 * The dark modules of a QR code, row by row, without the margin; `null` if the text is too long.
 * @param {string} text
 * @returns {boolean[][] | null}
 */
export function qrCode(text) {
  const bytes = [...new TextEncoder().encode(text)];
  const index = BLOCKS.findIndex(([, blocks], i) => bytes.length <= sum(blocks) - (i < 9 ? 2 : 3));
  if (index === -1) {
    return null;
  }
  const codewords = withCorrection(dataOf(bytes, index + 1), ...BLOCKS[index]);
  const codes = MASKS.map((_, mask) => drawn(index + 1, codewords, mask));
  const penalties = codes.map(penaltyOf);
  return codes[penalties.indexOf(Math.min(...penalties))];
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/**
 * @param {number} value
 * @param {number} length
 */
function bitsOf(value, length) {
  return Array.from({ length }, (_, i) => (value >> (length - 1 - i)) & 1);
}

/**
 * @param {number[]} bytes
 * @param {number} version
 */
function dataOf(bytes, version) {
  const capacity = sum(BLOCKS[version - 1][1]);
  const bits = [...bitsOf(BYTE_MODE, 4), ...bitsOf(bytes.length, version < 10 ? 8 : 16), ...bytes.flatMap((byte) => bitsOf(byte, 8)), 0, 0, 0, 0];
  const data = Array.from({ length: Math.floor(bits.length / 8) }, (_, i) => parseInt(bits.slice(8 * i, 8 * i + 8).join(""), 2));
  for (let i = 0; data.length < capacity; i++) {
    data.push(PADDING[i % 2]);
  }
  return data;
}

/**
 * A product in the field of 256 elements.
 * @param {number} one
 * @param {number} other
 */
function product(one, other) {
  let result = 0;
  for (let bit = 7; bit >= 0; bit--) {
    result = (result << 1) ^ ((result >> 7) * 0x11d) ^ (((other >> bit) & 1) * one);
  }
  return result;
}

/**
 * The remainder of a block after the division by the generator polynomial.
 * @param {number[]} block
 * @param {number} length
 */
function correctionOf(block, length) {
  let generator = [1];
  for (let i = 0, root = 1; i < length; i++, root = product(root, 2)) {
    generator = [...generator, 0].map((value, place) => value ^ product(root, generator[place - 1] ?? 0));
  }
  const rest = [...block, ...Array(length).fill(0)];
  block.forEach((_, place) => {
    const factor = rest[place];
    generator.forEach((value, i) => (rest[place + i] ^= product(value, factor)));
  });
  return rest.slice(block.length);
}

/**
 * The codewords of all blocks, interleaved.
 * @param {number[]} data
 * @param {number} correction
 * @param {number[]} lengths
 */
function withCorrection(data, correction, lengths) {
  let start = 0;
  const blocks = lengths.map((length) => data.slice(start, (start += length)));
  const columns = (/** @type {number[][]} */ rows) =>
    Array.from({ length: Math.max(...rows.map((row) => row.length)) }, (_, i) => rows.flatMap((row) => row.slice(i, i + 1))).flat();
  return [...columns(blocks), ...columns(blocks.map((block) => correctionOf(block, correction)))];
}

/**
 * A value with its BCH code.
 * @param {number} value
 * @param {number} generator
 * @param {number} length  That of the code in bits.
 */
function withBch(value, generator, length) {
  let rest = value << length;
  for (let bit = 31 - Math.clz32(rest); bit >= length; bit = 31 - Math.clz32(rest)) {
    rest ^= generator << (bit - length);
  }
  return (value << length) | rest;
}

/** Where alignment patterns have their centres. @param {number} version */
function alignments(version) {
  const last = 4 * version + 10;
  return version === 1 ? [] : version < 7 ? [6, last] : [6, (6 + last) / 2, last];
}

/**
 * @param {number} version
 * @param {number[]} codewords
 * @param {number} mask
 */
function drawn(version, codewords, mask) {
  const size = 4 * version + 17;
  const code = /** @type {(boolean | undefined)[][]} */ (Array.from({ length: size }, () => Array(size).fill(undefined)));
  const square = (/** @type {number} */ row, /** @type {number} */ column, /** @type {number} */ radius, /** @type {number[]} */ light) => {
    for (let y = -radius; y <= radius; y++) {
      for (let x = -radius; x <= radius; x++) {
        if (code[row + y] !== undefined && column + x >= 0 && column + x < size) {
          code[row + y][column + x] = !light.includes(Math.max(Math.abs(x), Math.abs(y)));
        }
      }
    }
  };
  for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]]) {
    square(row, column, 4, [2, 4]);
  }
  for (const row of alignments(version)) {
    alignments(version).filter((column) => code[row][column] === undefined).forEach((column) => square(row, column, 2, [1]));
  }
  for (let i = 8; i < size - 8; i++) {
    code[6][i] = code[i][6] = i % 2 === 0;
  }
  bitsOf(withBch((LEVEL_M << 3) | mask, 0x537, 10) ^ 0x5412, 15).forEach((bit, i) => {
    code[8][i < 6 ? i : i < 7 ? 7 : size - 15 + i] = bit === 1;
    code[i < 7 ? size - 1 - i : i < 9 ? 15 - i : 14 - i][8] = bit === 1;
  });
  code[size - 8][8] = true;
  if (version >= 7) {
    bitsOf(withBch(version, 0x1f25, 12), 18).reverse().forEach((bit, i) => {
      const [long, short] = [Math.floor(i / 3), size - 11 + (i % 3)];
      code[long][short] = code[short][long] = bit === 1;
    });
  }
  const bits = codewords.flatMap((codeword) => bitsOf(codeword, 8));
  let next = 0;
  for (let right = size - 1, upwards = true; right > 0; right -= 2, upwards = !upwards) {
    right -= right === 6 ? 1 : 0;
    for (let i = 0; i < size; i++) {
      const row = upwards ? size - 1 - i : i;
      for (const column of [right, right - 1]) {
        if (code[row][column] === undefined) {
          code[row][column] = (bits[next++] === 1) !== MASKS[mask](row, column);
        }
      }
    }
  }
  return /** @type {boolean[][]} */ (code);
}

/** How difficult a code is to scan. @param {boolean[][]} code */
function penaltyOf(code) {
  const rows = code.map((row) => row.map(Number).join(""));
  const columns = code.map((_, i) => rows.map((row) => row[i]).join(""));
  const lines = [...rows, ...columns];
  const runs = sum(lines.flatMap((line) => line.match(/0{5,}|1{5,}/g) ?? []).map(({ length }) => length - 2));
  const finders = lines.flatMap((line) => FINDERS.map((finder) => [...line.matchAll(new RegExp(`(?=${finder})`, "g"))].length));
  const blocks = rows.slice(1).map((row, y) => [...row].slice(1).filter((_, x) => new Set([row[x], row[x + 1], rows[y][x], rows[y][x + 1]]).size === 1).length);
  const dark = sum(rows.map((row) => row.replaceAll("0", "").length)) / code.length ** 2;
  return runs + 40 * sum(finders) + 3 * sum(blocks) + 10 * Math.floor(Math.abs(dark * 100 - 50) / 5);
}
