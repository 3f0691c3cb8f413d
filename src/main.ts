/** Entry: hands the arguments to the command line. */
const args = process.argv.slice(2);
if (args[0] === "serve") {
  const { isTuningOn, prepareCollector } = await import("./app/garbage-collection.ts");
  if (isTuningOn(args, process.env)) prepareCollector();
}
const { runCommand } = await import("./cli/index.ts");
process.exitCode = await runCommand(args);
