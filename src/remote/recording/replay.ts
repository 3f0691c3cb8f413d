/** `platform replay`: answers calls from a recording. */
import { Command } from "commander";
import { type Answering, answerUntilStopped, listenOption, writeStatus } from "./listen.ts";
import { Recording, readRecording, readRequest } from "./recording.ts";

export function makeCommand(): Command {
  return new Command("replay")
    .description(
      "Answer calls over REST, and over Connect with JSON, as the server did that `platform record` recorded: by method, path and body, whatever the " +
        "token. A call that was not recorded is answered with 501. Ends at Ctrl-C.",
    )
    .argument("<FILE>", "a recording")
    .addOption(listenOption)
    .action(async (file: string, { listen }: { readonly listen: string }) => {
      const calls = readRecording(file);
      await answerUntilStopped(listen, replaying(new Recording(calls)), (baseUrl) =>
        console.log(`platform replays ${calls.length} answers at ${baseUrl}`),
      );
    });
}

function replaying(recording: Recording): Answering {
  return async (incoming, response) => {
    const { request, target } = await readRequest(incoming);
    const call = request && recording.find(request);
    if (call === undefined) {
      const message = `Unimplemented: the recording has no answer to ${incoming.method} ${target.path} with this body`;
      writeStatus(response, 501, 12, message);
    } else response.writeHead(call.status, call.headers).end("answer" in call ? JSON.stringify(call.answer) : "");
  };
}
