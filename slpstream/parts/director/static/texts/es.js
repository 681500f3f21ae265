/** Spanish. @type {import("../../texts/texts.js").Table} */
export default {
  "director.stations": "Estaciones",
  "director.off": "No hay ninguna dirección configurada",
  "director.none": "Todavía no existe ninguna de las estaciones de la dirección",
  "director.up_next": "A continuación",
  "director.next_game": "Sigue la partida {game}",
  "director.set_over": "Set terminado",
};
