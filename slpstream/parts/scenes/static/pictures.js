/** Pictures of characters, stages and sponsors on the scenes: the user's own if they exist, as in `icons/icons.js`. */

export { characterPicture, portraitPicture, sponsorLogo, sponsorsWithLogo, stagePicture } from "../icons/icons.js";
