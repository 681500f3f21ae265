/** English: the table that the others are compared with. @type {import("../../texts/texts.js").Table} */
export default {
  "demo.title": "No game at hand?",
  "demo.about": "The demo plays a made-up match here, for about two minutes. It appears in no list of games and is sent nowhere else.",
  "demo.play": "Play the demo",
  "demo.command": "On the machine on which slpstream runs, enter this command:",
  "demo.refused": "The demo cannot start: {reason}",
  "demo.no_response": "The daemon is not responding.",
};
