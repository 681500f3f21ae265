/**
 * A module of a part, such as `wall/wall.js`; `null` if this slpstream does not have the part, or if the module cannot be loaded.
 * @param {string} path
 * @returns {Promise<any>}
 */
export function partModule(path) {
  return import(new URL(`../${path}`, import.meta.url).href).catch(() => null);
}
