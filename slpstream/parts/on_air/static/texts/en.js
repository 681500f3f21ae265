/** English: the table that the others are compared with. @type {import("../../texts/texts.js").Table} */
export default {
  "on_air.put": "Put on air",
  "on_air.keep": "Keep on air",
  "on_air.hand_back": "Hand back to the rule",
  "on_air.take_off": "Take off air",
};
