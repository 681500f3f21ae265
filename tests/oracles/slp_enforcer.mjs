// Runs slp-enforcer (GPL-3.0-or-later) as a black box: reads a path per line on stdin, and prints its results for each
// replay as a line of JSON: `handwarmer`, and by port the type of the controller and the result of each check, where true
// is a violation; or `error`. The first argument is the folder `node_modules`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = join(process.argv[2], "slp-enforcer");
const { init, SlpGame } = await import(pathToFileURL(join(folder, "dist", "index.js")).href);
await init(readFileSync(join(folder, "pkg", "web", "libenforcer_wasm_bg.wasm")));

function read(path) {
  const game = new SlpGame(new Uint8Array(readFileSync(path)));
  const ports = {};
  for (const { playerIndex } of game.getGameSettings().players) {
    const result = game.analyzePlayer(playerIndex);
    const checks = {};
    for (const [check, found] of Object.entries(result)) {
      if (found !== null && typeof found === "object") {
        checks[check] = "pass" in found ? !found.pass : found.result;
      }
    }
    ports[playerIndex + 1] = { type: result.controller_type, checks };
  }
  const handwarmer = game.isHandwarmer();
  game.free();
  return { handwarmer, ports };
}

createInterface({ input: process.stdin }).on("line", (path) => {
  let results;
  try {
    results = read(path);
  } catch (error) {
    results = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(results) + "\n");
});
