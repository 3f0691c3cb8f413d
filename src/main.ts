/**
 * Entry: hands the arguments to the command line.
 *
 * Loading the program makes tens of megabytes of garbage, once. Left alone, V8 answers by growing the space for young objects to its maximum
 * and keeps it, so an idle server would hold 60 MB of nothing; therefore that space does not grow until the command runs.
 */
import { setFlagsFromString } from "node:v8";

setFlagsFromString("--semi-space-growth-factor=1");
const { runCommand } = await import("./cli/index.ts");
process.exitCode = await runCommand(process.argv.slice(2));
