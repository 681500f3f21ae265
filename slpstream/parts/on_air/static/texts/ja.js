/** Japanese. @type {import("../../texts/texts.js").Table} */
export default {
  "on_air.put": "配信に出す",
  "on_air.keep": "このまま配信する",
  "on_air.hand_back": "ルールに戻す",
  "on_air.take_off": "配信から外す",
};
