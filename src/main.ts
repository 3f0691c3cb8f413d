/** Entry: hands the arguments to the command line. */

/** Of programs that SIGPIPE ends, because their reader has ended, as `head` does. */
const closedPipe = 141;
/** How long a command that is done waits for what it has left open, such as a connection that a peer does not close. */
const lingerMs = 2000;

const args = process.argv.slice(2);
process.stderr.on("error", () => {}); // there is nowhere to report it
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(closedPipe);
  console.error(`error: cannot write to standard output: ${error.message}`);
  process.exit(1);
});
if (args[0] === "serve") {
  const { isTuningOn, prepareCollector } = await import("./app/garbage-collection.ts");
  if (isTuningOn(args, process.env)) prepareCollector();
}
const { runCommand } = await import("./cli/index.ts");
process.exitCode = await runCommand(args);
setTimeout(() => process.exit(), lingerMs).unref();
