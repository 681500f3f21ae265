/**
 * The commentators, `/scenes/casters/{station}`: their names and handles at the bottom of the picture. They are in the option
 * `casters`; without it, they are those of the set.
 */

import { make } from "../dom.js";
import { text } from "../texts/texts.js";
import { fitted, openBoard, rebuild } from "./boards.js";

const MAX_CASTERS = 3;
/** A name, and a handle after it. */
const WITH_HANDLE = /^(.*\S)\s+([@＠]\S+)$/u;

openBoard({ draw });

/** @param {import("./boards.js").Board} board */
function draw({ element, options, state }) {
  element.dataset.at = options.at;
  const given = options.casters.length > 0 ? options.casters : (state.view.set?.casters ?? []);
  const casters = given.slice(0, MAX_CASTERS);
  rebuild(element, casters, () => [
    make("p.kicker", text("scene.casters")),
    make("ul.casters", ...casters.map((caster) => {
      const [, name = caster, handle = ""] = WITH_HANDLE.exec(caster) ?? [];
      return make("li.caster", fitted("p.name", name), fitted("p.name.handle", handle));
    })),
  ]);
  return casters.length > 0;
}
