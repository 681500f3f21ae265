/** A few seconds of a game for `<stage-view>`. */

import { FIRST_FRAME } from "../recording.js";
import { Replay } from "../replay.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {{from: number, to: number}} Range  Frames. Those that the game does not have are left out.
 */

export class Clip {
  /** @type {Replay | null} */ #replay = null;

  /**
   * @param {(path: string) => Promise<import("../api.js").Answer>} get
   * @param {Game} game
   * @param {Range} range
   * @param {{onMissing?: () => void, onEnd: () => void}} listeners  `onMissing` is called when the daemon lacks the frames.
   */
  constructor(get, game, { from, to }, { onMissing = () => {}, onEnd }) {
    /** The newest state of the game. */
    this.game = game;
    this.first = Math.max(FIRST_FRAME, from);
    const last = Math.max(this.first + 1, Math.min(to, game.frame ?? to));
    const onChange = () => {
      if (this.#replay?.missing) {
        onMissing();
      }
    };
    this.#replay = new Replay({ get, game: () => this.game, last: () => last, onChange, onEnd, shown: null }, this.first);
  }

  get replay() {
    return /** @type {Replay} */ (this.#replay);
  }
}

/** Height of the letters of the players' names. */
const TAG_REM = 1.5;

/**
 * Names fighters as in the set, and shows them with or without animations.
 * @param {import("../stage_view.js").StageView} stage
 * @param {import("../slpstream_types.js").SetScore | null} set  That of the game.
 * @param {import("../scene_options.js").SceneOptions} options
 */
export function showFighters(stage, set, { motion }) {
  stage.set = set;
  stage.still = !motion;
  stage.tagSize = TAG_REM * parseFloat(getComputedStyle(document.documentElement).fontSize);
}
