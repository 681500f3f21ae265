/**
 * The versus scene, `/scenes/versus/{station}`: the players of a set, with characters, seeds, stage and the score so far. With
 * `fill=1` it fills the picture.
 */

import { make } from "../dom.js";
import { number, text } from "../texts/texts.js";
import { aligned, coloured, heading, openBoard, pictureOf, plate, portraitOf, rebuild, stagePlate } from "./boards.js";
import { peopleOf, sidesOf } from "./people.js";
import { lengthWords, placeWords } from "./words.js";

openBoard({ draw });

/**
 * @param {import("./boards.js").Board} board
 * @param {number} now
 */
function draw({ element, options, state }, now) {
  element.classList.toggle("filling", options.fill);
  const { game, set } = state.shown(now);
  const people = peopleOf(game, set);
  const sides = sidesOf(people, set);
  if (sides.length < 2 || sides[1].people.length === 0) {
    return false;
  }
  const playing = game !== null && game.end === null;
  const stage = playing ? placeWords(game) : "";
  const stageId = playing ? game?.settings.stageId : undefined;
  const scores = sides.map(({ score }) => score);
  const known = people.map(({ index, percent, stocks, points, ...others }) => others);
  rebuild(element, [known, scores, stage, set?.event, set?.round, set?.bestOf], () => {
    const picture = options.fill ? portraitOf : pictureOf;
    const [left, right] = sides.map((side, i) => {
      const plates = side.people.map((person) => plate(person, picture));
      return coloured(make(`section.side.${i === 0 ? "left" : "right"}`, ...plates), side.people[0]);
    });
    const begun = scores.some((score) => (score ?? 0) > 0);
    const middle = begun
      ? make("p.versus.score-so-far", ...scores.map((score) => make("span.score", number(score ?? 0))))
      : make("p.versus", text("scene.versus"));
    const foot = make("footer.foot", make("p.best-of", lengthWords(set)));
    if (stage !== "") {
      foot.append(stagePlate(stageId, stage));
    }
    return [heading(set), aligned(make("div.sides", left, middle, right)), foot];
  });
  return state.phaseEndsAt(now) ?? true;
}
