/** Japanese. @type {import("../../texts/texts.js").Table} */
export default {
  "crews.battle": "団体戦",
  "crews.name": "チーム {number}",
  "crews.stocks": "ストック",
  "crews.stocks_of": "チーム {number} のストック",
  "crews.player_stocks": "1人のストック",
  "crews.begin": "このセットを団体戦にする",
  "crews.change": "チームを変更",
  "crews.end": "通常のセットに戻す",
};
