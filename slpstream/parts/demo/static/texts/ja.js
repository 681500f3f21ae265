/** Japanese. @type {import("../../texts/texts.js").Table} */
export default {
  "demo.title": "試合がない場合は",
  "demo.about": "デモでは架空の試合を約 2 分間ここに表示します。試合の一覧には残らず、ほかへ送信されることもありません。",
  "demo.play": "デモを再生",
  "demo.command": "slpstream を実行しているマシンで、次のコマンドを入力してください：",
  "demo.refused": "デモを開始できません：{reason}",
  "demo.no_response": "デーモンが応答していません。",
};
