/** Japanese. @type {import("../../texts/texts.js").Table} */
export default {
  "commentary.page": "{station}の文字実況 · slpstream",
  "commentary.heading": "{station}の文字実況",
  "commentary.about": "この台の試合の様子を文字で伝えます。新しい文は一番下に出ます。",
  "commentary.sentences": "文字実況",
  "commentary.aloud": "読み上げる",
  "commentary.no_station": "その台はありません。",
  "commentary.no_token": "実況を見るには、アクセストークンが必要です。",
};
