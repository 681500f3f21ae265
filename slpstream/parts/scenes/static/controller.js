/** The controllers of the players, `/scenes/controller/{station}`. */

import { CONTROLLER_FIELDS } from "../controller.js";
import { make } from "../dom.js";
import { FIELDS } from "../slippi.js";
import { coloured, fitted, openBoard, portOf, rebuild } from "./boards.js";
import { canShow, peopleOf, selected } from "./people.js";

openBoard({ topics: ["game", "frame"], fields: [...FIELDS, ...CONTROLLER_FIELDS], draw });

/** @param {import("./boards.js").Board} board */
function draw({ element, state, options }) {
  element.dataset.at = options.at;
  const { game, set } = state.view;
  if (game === null || !canShow(game) || game.end !== null) {
    return false;
  }
  const people = selected(peopleOf(game, set), options.players);
  rebuild(element, people.map(({ port, tag, team }) => [port, tag, team]), () =>
    people.map((person) => {
      const display = document.createElement("controller-display");
      display.className = "controller";
      return coloured(make("figure.pad", make("figcaption", portOf(person), fitted("span.name", person.tag)), display), person);
    }),
  );
  people.forEach((person, i) => {
    const display = element.children[i].querySelector("controller-display");
    const held = game.players.get(person.index)?.pre;
    /** @type {import("../controller.js").ControllerDisplay} */ (display).show(held);
  });
  return people.length > 0;
}
