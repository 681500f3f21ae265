/** Spanish. @type {import("../../texts/texts.js").Table} */
export default {
  "demo.title": "¿No tienes una partida a mano?",
  "demo.about": "La demo reproduce aquí una partida inventada durante unos dos minutos. No aparece en ninguna lista de partidas ni se envía a ningún otro sitio.",
  "demo.play": "Ver la demo",
  "demo.command": "En el equipo en el que se ejecuta slpstream, introduce este comando:",
  "demo.refused": "La demo no puede empezar: {reason}",
  "demo.no_response": "El servicio no responde.",
};
