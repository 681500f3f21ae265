/**
 * The subprotocol `slpstream.v1.delta`, read: MessagePack, in which most messages only say what differs from the one before
 * them. `slpstream/model/delta.py` says how. `connect({ protocol: "delta" })` loads this module by itself.
 */

export const SUBPROTOCOL = "slpstream.v1.delta";

/** The types of which the newest message says what the older ones said. */
const DELTA_TYPES = Object.freeze(["frame", "finalized", "stats"]);
const ENVELOPE = new Set(["type", "station", "gameId", "cursor"]);

/**
 * @typedef {Record<string, any>} Message
 * @typedef {{envelope: Message, shape: Shape, leaves: any[]}} Before  The newest message of a type and station.
 */

/** The messages of one connection, in the order in which they come, whole again. */
export class DeltaDecoder {
  /** @type {Map<string, Before>} */ #before = new Map();

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
      this.#before.set(`${message.type} ${message.station}`, { envelope, shape, leaves: shape.read(payload, []) });
    }
    return message;
  }

  /** @param {any[]} delta */
  #apply([station, type, step, count, edits = [], ups = NONE, singles = NONE, floats = NONE, others = NONE, ...values]) {
    const key = `${DELTA_TYPES[type]} ${station}`;
    const before = this.#before.get(key);
    if (before === undefined) {
      throw new Error(`a delta without the message before it: ${key}`);
    }
    let { shape, leaves } = before;
    if (edits.length > 0) {
      const value = edited(shape.build(leaves), edits);
      shape = new Shape(value);
      leaves = shape.read(value, []);
    } else {
      leaves = leaves.slice();
    }
    for (const i of places(ups)) {
      leaves[i] += 1;
    }
    const numbers = new DataView(floats.buffer, floats.byteOffset, floats.byteLength);
    places(singles).forEach((i, n) => (leaves[i] = numbers.getFloat32(4 * n)));
    places(others).forEach((i, n) => (leaves[i] = values[n]));
    const [, place, offset] = /** @type {string[]} */ (/^([^/]*\/.)(\d+)/.exec(before.envelope.cursor));
    const envelope = { ...before.envelope, cursor: `${place}${Number(offset) + step}.${count}` };
    this.#before.set(key, { envelope, shape, leaves });
    return { ...envelope, ...shape.build(leaves) };
  }
}

const NONE = new Uint8Array(0);

/** What a map or an array consists of, down to its leaves. */
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
   * @param {any} value  Of this shape.
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
   * A value of this shape, which is nobody else's.
   * @param {any[]} leaves
   * @param {{next: number}} at
   */
  build(leaves, at = { next: 0 }) {
    /** @type {any} */
    const value = this.#isArray ? [] : {};
    for (const key of this.#keys) {
      const leaf = leaves[at.next++];
      value[key] = typeof leaf === "object" && leaf !== null ? (Array.isArray(leaf) ? [] : {}) : leaf;
    }
    for (const [key, child] of this.#children) {
      value[key] = child.build(leaves, at);
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

/** @param {Uint8Array} coded */
function places(coded) {
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
 * @param {any} value  Is changed.
 * @param {[(string | number)[], any?][]} edits
 */
function edited(value, edits) {
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

// -- MessagePack ----------------------------------------------------------------------------------------------------------

const text = new TextDecoder();

/**
 * One value. Integers are numbers, also those of 64 bits; byte strings are a `Uint8Array`.
 * @param {ArrayBuffer | Uint8Array} data
 * @returns {any}
 */
export function decodeMessagePack(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  /** @param {number} size */
  const skip = (size) => (at += size) - size;
  /** @param {number} size  1, 2 or 4 bytes. */
  const length = (size) => (size === 1 ? view.getUint8(skip(1)) : size === 2 ? view.getUint16(skip(2)) : view.getUint32(skip(4)));
  /** @param {number} size */
  const raw = (size) => {
    if (at + size > bytes.length) {
      throw new RangeError("MessagePack: the message ends too early");
    }
    return bytes.subarray(skip(size), at);
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
  /** By first byte. @type {Record<number, () => any>} */
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
      throw new RangeError(`MessagePack: 0x${first.toString(16)} is not used here`);
    }
    return read();
  }

  const whole = value();
  if (at !== bytes.length) {
    throw new RangeError("MessagePack: there is more behind the message");
  }
  return whole;
}
