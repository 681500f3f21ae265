/** Spanish. @type {import("../../texts/texts.js").Table} */
export default {
  "crews.battle": "Batalla de equipos",
  "crews.name": "Equipo {number}",
  "crews.stocks": "Vidas",
  "crews.stocks_of": "Vidas del equipo {number}",
  "crews.player_stocks": "Vidas por jugador",
  "crews.begin": "Convertir este set en batalla de equipos",
  "crews.change": "Cambiar los equipos",
  "crews.end": "Volver a un set normal",
};
