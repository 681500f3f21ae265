/** The module of the bar with the odds, if the address of the page asks for it with `odds=1`, and otherwise `null`. */
export const advantage = new URLSearchParams(location.search).get("odds") === "1" ? await import("./advantage.js") : null;

/** The types of messages that the bar needs. @type {{also?: string[]}} */
export const subscription = advantage === null ? {} : { also: ["odds"] };
