/** Entry: hands the arguments to the command line. */
import { holdYoungSpace } from "./collector.ts";

holdYoungSpace();
const { runCommand } = await import("./cli/index.ts");
process.exitCode = await runCommand(process.argv.slice(2));
