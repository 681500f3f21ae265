/** Pictures of characters and stages on the scenes: the user's own where there are any. See `icons/icons.js`. */

export { characterPicture, stagePicture } from "../icons/icons.js";
