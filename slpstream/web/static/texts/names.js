/**
 * Names of things in Melee where a language's players use others than the English ones. The ids are those of the daemon's
 * tables, `names/slippi/`, which have the English names. Spanish-speaking players use the English names.
 *
 * Japanese characters and stages have the names of the Japanese edition of the game; moves have those that players use.
 */

import { language, text } from "./texts.js";

/**
 * @typedef {"characters" | "stages" | "moves"} Kind
 * @typedef {Partial<Record<Kind, Readonly<Record<number, string>>>>} Names  By external id, or move id.
 */

/** The format whose ids these are. */
export const FORMAT = "slippi";

/** @type {Readonly<Partial<Record<import("./texts.js").Language, Names>>>} */
const NAMES = Object.freeze({
  ja: {
    characters: {
      0: "キャプテン・ファルコン",
      1: "ドンキーコング",
      2: "フォックス",
      3: "Mr.ゲーム&ウォッチ",
      4: "カービィ",
      5: "クッパ",
      6: "リンク",
      7: "ルイージ",
      8: "マリオ",
      9: "マルス",
      10: "ミュウツー",
      11: "ネス",
      12: "ピーチ",
      13: "ピカチュウ",
      14: "アイスクライマー",
      15: "プリン",
      16: "サムス",
      17: "ヨッシー",
      18: "ゼルダ",
      19: "シーク",
      20: "ファルコ",
      21: "こどもリンク",
      22: "ドクターマリオ",
      23: "ロイ",
      24: "ピチュー",
      25: "ガノンドロフ",
      26: "マスターハンド",
      27: "謎のザコ敵軍団（男）",
      28: "謎のザコ敵軍団（女）",
      29: "ギガクッパ",
      30: "クレイジーハンド",
      31: "サンドバッグくん",
      32: "ポポ",
    },
    stages: {
      2: "夢の泉",
      3: "ポケモンスタジアム",
      4: "ピーチ城",
      5: "コンゴジャングル",
      6: "ブリンスタ",
      7: "コーネリア",
      8: "ヨッシーストーリー",
      9: "オネット",
      10: "ミュートシティ",
      11: "レインボークルーズ",
      12: "ジャングルガーデン",
      13: "グレートベイ",
      14: "神殿",
      15: "ブリンスタ深部",
      16: "ヨッシーアイランド",
      17: "グリーングリーンズ",
      18: "フォーサイド",
      19: "キノコ王国",
      20: "キノコ王国II",
      22: "惑星ベノム",
      23: "ポケモン亜空間",
      24: "ビッグブルー",
      25: "アイシクルマウンテン",
      27: "フラットゾーン",
      28: "プププランド64",
      29: "ヨッシーアイランド64",
      30: "コンゴジャングル64",
      31: "戦場",
      32: "終点",
      84: "ホームランコンテスト",
    },
    moves: {
      1: "その他",
      2: "弱1",
      3: "弱2",
      4: "弱3",
      5: "百裂",
      6: "ダッシュ攻撃",
      7: "横強",
      8: "上強",
      9: "下強",
      10: "横スマッシュ",
      11: "上スマッシュ",
      12: "下スマッシュ",
      13: "空N",
      14: "空前",
      15: "空後",
      16: "空上",
      17: "空下",
      18: "通常必殺ワザ",
      19: "横必殺ワザ",
      20: "上必殺ワザ",
      21: "下必殺ワザ",
      50: "起き上がり攻撃（仰向け）",
      51: "起き上がり攻撃（うつ伏せ）",
      52: "つかみ攻撃",
      53: "前投げ",
      54: "後投げ",
      55: "上投げ",
      56: "下投げ",
      57: "リフティング前投げ",
      58: "リフティング後投げ",
      59: "リフティング上投げ",
      60: "リフティング下投げ",
      61: "ガケのぼり攻撃（遅）",
      62: "ガケのぼり攻撃",
    },
  },
});

/**
 * The name of a thing in the language of the page; `undefined` if its players use the English one.
 * @param {Kind} kind
 * @param {number} id
 */
export function localName(kind, id) {
  return NAMES[language]?.[kind]?.[id];
}

/**
 * How a player without a name is called.
 * @param {number} port  From 1 on.
 */
export function portText(port) {
  return text("game.port", { port: String(port) });
}
