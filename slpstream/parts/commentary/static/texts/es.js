/** Spanish. @type {import("../../texts/texts.js").Table} */
export default {
  "commentary.page": "{station} en palabras · slpstream",
  "commentary.heading": "{station} en palabras",
  "commentary.about": "Lo que pasa en las partidas de esta estación. La frase más reciente está al final.",
  "commentary.sentences": "Frases",
  "commentary.aloud": "Leer en voz alta",
  "commentary.no_station": "No existe esa estación.",
  "commentary.no_token": "Para leer lo que pasa hace falta el token de acceso de este servidor.",
};
