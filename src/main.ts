/** Entry: hands the arguments to the command line. */
import { prepareCollector } from "./collector.ts";

prepareCollector();
const { runCommand } = await import("./cli/index.ts");
process.exitCode = await runCommand(process.argv.slice(2));
