/**
 * Requests to the HTTP API of the daemon that serves this page.
 *
 *     const api = new Api(takeToken());
 *     const { status, body } = await api.get("v1/stations");
 *
 * A response of any status is an answer. The only error is `NoAnswer`.
 */

/** The root of the daemon's addresses. A proxy can place it below a path. */
export const ROOT = new URL("..", import.meta.url);

export const Status = Object.freeze({
  OK: 200,
  UNAUTHORISED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  TOO_MANY: 429,
});

/** Whether the daemon refuses a request because its sender is not an operator. @param {number} status */
export const isRefusal = (status) => status === Status.UNAUTHORISED || status === Status.FORBIDDEN;

const TIMEOUT_MS = 10_000;

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} body  The decoded JSON; `detail` says what is wrong if the status is that of an error.
 *
 * @typedef {object} Options
 * @property {number} [timeoutMs]  How long an answer may take. Default: 10 seconds.
 * @property {Record<string, string>} [headers]  Headers of every request.
 */

/** The daemon is unreachable, responds too slowly, or its response is not JSON. The cause is in `cause`. */
export class NoAnswer extends Error {}

export class Api {
  #headers;
  #timeoutMs;

  /**
   * @param {string | undefined} token  `undefined` for requests that need none.
   * @param {Options} [options]
   */
  constructor(token, { timeoutMs = TIMEOUT_MS, headers = {} } = {}) {
    this.token = token;
    this.#timeoutMs = timeoutMs;
    this.#headers = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
  }

  /**
   * @param {string} path  Relative to the root.
   * @param {AbortSignal} [signal]  Replaces the timeout.
   * @returns {Promise<Answer>}
   */
  get(path, signal) {
    return this.#json(path, signal === undefined ? {} : { signal });
  }

  /**
   * @param {string} path
   * @param {unknown} body
   */
  patch(path, body) {
    return this.#json(path, withBody("PATCH", body, "application/merge-patch+json"));
  }

  /**
   * @param {string} path
   * @param {unknown} body
   */
  post(path, body) {
    return this.#json(path, withBody("POST", body));
  }

  /**
   * @param {string} path
   * @param {unknown} body
   */
  put(path, body) {
    return this.#json(path, withBody("PUT", body));
  }

  /** @param {string} path */
  delete(path) {
    return this.#json(path, { method: "DELETE" });
  }

  /**
   * The content of a response that is not JSON.
   * @param {string} path
   * @returns {Promise<string>}
   */
  text(path) {
    return this.#read(path, {}, (response) => response.text());
  }

  /**
   * The response itself, for content that is not text.
   * @param {string | URL} path
   * @param {RequestInit} [request]
   * @returns {Promise<Response>}
   */
  response(path, request = {}) {
    return this.#read(path, request, (response) => response);
  }

  /**
   * @param {string} path
   * @param {RequestInit} request
   * @returns {Promise<Answer>}
   */
  #json(path, request) {
    return this.#read(path, request, async (response) => ({ status: response.status, body: await response.json() }));
  }

  /**
   * @template T
   * @param {string | URL} path
   * @param {RequestInit} request
   * @param {(response: Response) => T | Promise<T>} read
   * @returns {Promise<T>}
   */
  async #read(path, request, read) {
    try {
      const signal = AbortSignal.timeout?.(this.#timeoutMs); // the browser of an older OBS lacks it
      return await read(
        await fetch(new URL(path, ROOT), { signal, ...request, headers: { ...this.#headers, ...request.headers } }),
      );
    } catch (cause) {
      throw new NoAnswer(`no answer to ${path}`, { cause });
    }
  }
}

/**
 * @param {string} method
 * @param {unknown} body
 * @param {string} [type]
 * @returns {RequestInit}
 */
function withBody(method, body, type = "application/json") {
  return { method, body: JSON.stringify(body), headers: { "content-type": type } };
}
