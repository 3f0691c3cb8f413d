/** Entry: hands the arguments to the command line. */
import { isTuningOn, prepareCollector } from "./app/garbage-collection.ts";

const args = process.argv.slice(2);
if (isTuningOn(args, process.env)) prepareCollector();
const { runCommand } = await import("./cli/index.ts");
process.exitCode = await runCommand(args);
