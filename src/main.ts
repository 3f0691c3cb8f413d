/** Entry: hands the arguments to the command line. */
import { runCommand } from "./cli/index.ts";

process.exitCode = await runCommand(process.argv.slice(2));
