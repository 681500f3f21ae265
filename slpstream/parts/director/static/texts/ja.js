/** Japanese. @type {import("../../texts/texts.js").Table} */
export default {
  "director.stations": "台",
  "director.off": "ディレクターが設定されていません",
  "director.none": "ディレクターの台がまだありません",
  "director.up_next": "次の対戦",
  "director.next_game": "次は第{game}試合",
  "director.set_over": "セット終了",
};
