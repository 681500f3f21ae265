/** English: the table that the others are compared with. @type {import("../../texts/texts.js").Table} */
export default {
  "commentary.page": "{station} in words · slpstream",
  "commentary.heading": "{station} in words",
  "commentary.about": "What happens in the games of this station. The newest sentence is at the end.",
  "commentary.sentences": "Sentences",
  "commentary.aloud": "Read aloud",
  "commentary.no_station": "There is no such station.",
  "commentary.no_token": "This daemon tells what happens only to those who have its access token.",
};
