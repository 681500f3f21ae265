/**
 * Decoder of the subprotocol `slpstream.v1.delta`: MessagePack, in which most messages contain only the differences from
 * an earlier message. `slpstream/model/delta.py` documents it. `connect({ protocol: "delta" })` loads this module.
 */

export const SUBPROTOCOL = "slpstream.v1.delta";

/** Types whose messages are sent as deltas, in the order of their numbers on the wire. */
const DELTA_TYPES = Object.freeze(["frame", "finalized", "stats"]);
const ENVELOPE = new Set(["type", "station", "gameId", "cursor"]);

/**
 * @typedef {Record<string, any>} Message
 * @typedef {{envelope: Message, shape: Shape, leaves: any[]}} Base  The newest message of a type and station.
 */

/** Restores the messages of one connection, given in the order in which they arrive. */
export class DeltaDecoder {
  /** @type {Map<string, Base>} */ #bases = new Map();

  /**
   * @param {ArrayBuffer | Uint8Array} data  One websocket message.
   * @returns {Message}
   */
  decode(data) {
    const message = decodeMessagePack(data);
    if (Array.isArray(message)) {
      return this.#apply(message);
    }
    if (DELTA_TYPES.includes(message.type)) {
      const entries = Object.entries(message);
      const envelope = Object.fromEntries(entries.filter(([key]) => ENVELOPE.has(key)));
      const payload = Object.fromEntries(entries.filter(([key]) => !ENVELOPE.has(key)));
      const shape = new Shape(payload);
      this.#bases.set(`${message.type} ${message.station}`, { envelope, shape, leaves: shape.read(payload, []) });
    }
    return message;
  }

  /** @param {any[]} delta */
  #apply([station, type, step, count, edits = [], ups = NONE, singles = NONE, floats = NONE, others = NONE, ...values]) {
    const key = `${DELTA_TYPES[type]} ${station}`;
    const base = this.#bases.get(key);
    if (base === undefined) {
      throw new Error(`a delta without an earlier message: ${key}`);
    }
    let { shape, leaves } = base;
    if (edits.length > 0) {
      const value = applyEdits(shape.build(leaves), edits);
      shape = new Shape(value);
      leaves = shape.read(value, []);
    } else {
      leaves = leaves.slice();
    }
    for (const i of indexes(ups)) {
      leaves[i] += 1;
    }
    const numbers = new DataView(floats.buffer, floats.byteOffset, floats.byteLength);
    indexes(singles).forEach((i, n) => (leaves[i] = numbers.getFloat32(4 * n)));
    indexes(others).forEach((i, n) => (leaves[i] = values[n]));
    const [, prefix, offset] = /** @type {string[]} */ (/^([^/]*\/.)(\d+)/.exec(base.envelope.cursor));
    const envelope = { ...base.envelope, cursor: `${prefix}${Number(offset) + step}.${count}` };
    this.#bases.set(key, { envelope, shape, leaves });
    return { ...envelope, ...shape.build(leaves) };
  }
}

const NONE = new Uint8Array(0);

/** The structure of nested maps and arrays, without the leaves. */
class Shape {
  /** @type {(string | number)[]} */ #keys = [];
  /** @type {[string | number, Shape][]} */ #children = [];
  #isArray;

  /** @param {any} value */
  constructor(value) {
    this.#isArray = Array.isArray(value);
    const keys = this.#isArray ? [...value.keys()] : Object.keys(value).sort(byCodePoint);
    for (const key of keys) {
      if (isContainer(value[key])) {
        this.#children.push([key, new Shape(value[key])]);
      } else {
        this.#keys.push(key);
      }
    }
  }

  /**
   * @param {any} value  A value of this shape.
   * @param {any[]} leaves
   */
  read(value, leaves) {
    for (const key of this.#keys) {
      leaves.push(value[key]);
    }
    this.#children.forEach(([key, child]) => child.read(value[key], leaves));
    return leaves;
  }

  /**
   * A new value of this shape.
   * @param {any[]} leaves
   * @param {{next: number}} position  Where to continue in `leaves`.
   */
  build(leaves, position = { next: 0 }) {
    /** @type {any} */
    const value = this.#isArray ? [] : {};
    for (const key of this.#keys) {
      const leaf = leaves[position.next++];
      value[key] = typeof leaf === "object" && leaf !== null ? (Array.isArray(leaf) ? [] : {}) : leaf;
    }
    for (const [key, child] of this.#children) {
      value[key] = child.build(leaves, position);
    }
    return value;
  }
}

/** @param {any} value */
function isContainer(value) {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/**
 * @param {string} one
 * @param {string} other
 */
function byCodePoint(one, other) {
  for (let i = 0; i < Math.min(one.length, other.length); i++) {
    if (one[i] !== other[i]) {
      return Number(one.codePointAt(i)) - Number(other.codePointAt(i));
    }
  }
  return one.length - other.length;
}

/**
 * Increasing indexes, coded as the gaps between them.
 * @param {Uint8Array} coded
 */
function indexes(coded) {
  const found = [];
  let [expected, gap, weight] = [0, 0, 1];
  for (const byte of coded) {
    gap += (byte & 0x7f) * weight;
    weight *= 0x80;
    if (byte < 0x80) {
      found.push(expected + gap);
      [expected, gap, weight] = [expected + gap + 1, 0, 1];
    }
  }
  return found;
}

/**
 * Applies edits to a value, in place.
 * @param {any} value
 * @param {[(string | number)[], any?][]} edits
 */
function applyEdits(value, edits) {
  const root = [value];
  for (const edit of edits) {
    const keys = [0, ...edit[0]];
    const last = /** @type {string | number} */ (keys.pop());
    const container = keys.reduce((inside, key) => inside[key], /** @type {any} */ (root));
    if (edit.length > 1) {
      container[last] = edit[1];
    } else if (Array.isArray(container)) {
      container.splice(Number(last), 1);
    } else {
      delete container[last];
    }
  }
  return root[0];
}

const text = new TextDecoder();

/**
 * Decodes one value. All integers become numbers, and byte strings become a `Uint8Array`.
 * @param {ArrayBuffer | Uint8Array} data
 * @returns {any}
 */
export function decodeMessagePack(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;

  /** @param {number} size */
  const skip = (size) => (offset += size) - size;
  /** @param {number} size  1, 2 or 4 bytes. */
  const length = (size) => (size === 1 ? view.getUint8(skip(1)) : size === 2 ? view.getUint16(skip(2)) : view.getUint32(skip(4)));
  /** @param {number} size */
  const raw = (size) => {
    if (offset + size > bytes.length) {
      throw new RangeError("MessagePack: the message ends too early");
    }
    return bytes.subarray(skip(size), offset);
  };
  /** @param {number} size */
  const string = (size) => text.decode(raw(size));
  /** @param {number} size */
  const array = (size) => {
    const values = [];
    for (let i = 0; i < size; i++) {
      values.push(value());
    }
    return values;
  };
  /** @param {number} size */
  const map = (size) => {
    /** @type {Record<string, any>} */
    const values = {};
    for (let i = 0; i < size; i++) {
      const key = value();
      values[key] = value();
    }
    return values;
  };
  /** Readers by the first byte of a value. @type {Record<number, () => any>} */
  const readers = {
    0xc0: () => null,
    0xc2: () => false,
    0xc3: () => true,
    0xc4: () => raw(length(1)),
    0xc5: () => raw(length(2)),
    0xc6: () => raw(length(4)),
    0xca: () => view.getFloat32(skip(4)),
    0xcb: () => view.getFloat64(skip(8)),
    0xcc: () => view.getUint8(skip(1)),
    0xcd: () => view.getUint16(skip(2)),
    0xce: () => view.getUint32(skip(4)),
    0xcf: () => Number(view.getBigUint64(skip(8))),
    0xd0: () => view.getInt8(skip(1)),
    0xd1: () => view.getInt16(skip(2)),
    0xd2: () => view.getInt32(skip(4)),
    0xd3: () => Number(view.getBigInt64(skip(8))),
    0xd9: () => string(length(1)),
    0xda: () => string(length(2)),
    0xdb: () => string(length(4)),
    0xdc: () => array(length(2)),
    0xdd: () => array(length(4)),
    0xde: () => map(length(2)),
    0xdf: () => map(length(4)),
  };

  /** @returns {any} */
  function value() {
    const first = view.getUint8(skip(1));
    if (first < 0x80) {
      return first;
    }
    if (first >= 0xe0) {
      return first - 0x100;
    }
    if (first < 0xc0) {
      return first < 0x90 ? map(first & 0x0f) : first < 0xa0 ? array(first & 0x0f) : string(first & 0x1f);
    }
    const read = readers[first];
    if (read === undefined) {
      throw new RangeError(`MessagePack: 0x${first.toString(16)} is not supported`);
    }
    return read();
  }

  const whole = value();
  if (offset !== bytes.length) {
    throw new RangeError("MessagePack: there are bytes after the message");
  }
  return whole;
}
