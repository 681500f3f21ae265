/**
 * The token of this browser: typed once into the form of the dashboard, kept until the tab is closed or, if the reader wants
 * that, for later visits. It is sent in the header of requests and, for websockets, in their address; the address of the page
 * does not keep it, because streams show address bars.
 */

const KEY = "slpstream.token";

/**
 * The token to send, if any. One in the address of the page replaces the kept one and is removed from the address.
 * @returns {string | undefined}
 */
export function takeToken() {
  const url = new URL(location.href);
  const given = url.searchParams.get("token");
  if (given !== null) {
    url.searchParams.delete("token");
    try {
      sessionStorage.setItem(KEY, given);
      history.replaceState(history.state, "", url);
    } catch {
      // A browser that blocks storage: the address keeps the token, for the next load.
    }
    return given || undefined;
  }
  return stored(() => sessionStorage) || stored(() => localStorage) || undefined;
}

/**
 * Keeps the token for the following pages of this tab, and for later visits if `remembered`. Returns whether that worked.
 * @param {string} token
 * @param {boolean} remembered
 */
export function keepToken(token, remembered) {
  try {
    forgetToken();
    (remembered ? localStorage : sessionStorage).setItem(KEY, token);
    return true;
  } catch {
    return false; // a browser that blocks storage
  }
}

/** Forgets the token in this tab and for later visits. Other open tabs keep theirs. */
export function forgetToken() {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
}

/** @param {() => Storage} storage */
function stored(storage) {
  try {
    return storage().getItem(KEY);
  } catch {
    return null;
  }
}
