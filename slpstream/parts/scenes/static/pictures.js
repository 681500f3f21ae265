/** Pictures of characters and stages on the scenes: the user's own if they exist, as in `icons/icons.js`. */

export { characterPicture, stagePicture } from "../icons/icons.js";
