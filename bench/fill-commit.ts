/** Fills the database of another commit by its own program: `fill-commit.ts FOLDER URL PEER-FILE ROOT ROWS`. */
import { join } from "node:path";
import type { fill as Fill } from "./data.ts";

const [folder = "", url = "", peerFile = "", root = "", rows = ""] = process.argv.slice(2);
const { fill } = (await import(join(folder, "bench/data.ts"))) as { fill: typeof Fill };
process.send?.({ repo: await fill(url, peerFile, root, Number(rows)) });
process.disconnect?.();
