/** The beginning of a combined script, which the daemon makes from the modules of a page. */

/**
 * Runs a module, and those that it imports. A module that is only imported later runs then.
 * @param {Record<string, (meta: object) => Promise<object>>} modules  By address below `/static/`. Each returns its exports.
 * @param {Record<string, object>} tables  The JSON files that they load, by address.
 * @param {string} entry
 */
async function runModules(modules, tables, entry) {
  const root = new URL(".", import.meta.url).href;
  /** @type {Record<string, Promise<object>>} */
  const running = {};
  const run = (/** @type {string} */ address) => (running[address] ??= modules[address](metaOf(new URL(address, root).href)));
  /** What a module has instead of `import` and `import.meta`. @param {string} url */
  const metaOf = (url) => ({
    url,
    hasStylesheets: true,
    tables,
    run,
    import(/** @type {string} */ specifier) {
      const { href } = new URL(specifier, url);
      const address = href.slice(root.length);
      return href.startsWith(root) && Object.hasOwn(modules, address) ? run(address) : import(href);
    },
  });
  await run(entry);
}
