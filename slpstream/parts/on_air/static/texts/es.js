/** Spanish. @type {import("../../texts/texts.js").Table} */
export default {
  "on_air.put": "Poner al aire",
  "on_air.keep": "Mantener al aire",
  "on_air.hand_back": "Devolver a la regla",
  "on_air.take_off": "Quitar del aire",
};
