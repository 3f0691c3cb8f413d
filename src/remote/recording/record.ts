/** `platform record`: a proxy before a server that records what it answers. */
import { appendFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Command } from "commander";
import { networkReason } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { inSession, withSession } from "../session/session.ts";
import { type Answering, answerUntilStopped, listenOption, writeStatus } from "./listen.ts";
import { jsonOf, type RecordedCall, type RecordedRequest, readRequest } from "./recording.ts";
import { withoutSecrets } from "./secrets.ts";

interface Options {
  readonly listen: string;
  readonly output: string;
}

/** Header fields of answers that are recorded. */
const recordedHeaders = ["content-type", "etag", "allow", "retry-after", "www-authenticate"];
/** Header fields that concern a connection, or a coding that the proxy removes. */
const hopByHop =
  /^(host|connection|keep-alive|proxy-.*|te|trailer|expect|transfer-encoding|upgrade|content-length|content-encoding|accept-encoding)$/;
/** What begins with these exchanges or provisions credentials. */
const unrecorded = /^\/(sts|scim)\//;

export function makeCommand(): Command {
  return withSession(new Command("record"))
    .description(
      "Stand before a server as a proxy for HTTP/1.1 and record its answers in JSON, over REST and Connect, for " +
        "`platform replay`. The recording has no tokens and no values of secret fields. Ends at Ctrl-C.",
    )
    .addOption(listenOption)
    .requiredOption("-o, --output <FILE>", "where to write the recording")
    .action(async ({ listen, output }: Options, command: Command) =>
      inSession(command, async ({ server, timeoutMs }) => {
        try {
          writeFileSync(output, "", { mode: 0o600 });
        } catch (error) {
          throw new CommandFailure(`cannot write ${output}: ${(error as Error).message}`, 2);
        }
        let count = 0;
        const write = (call: RecordedCall) => {
          count++;
          appendFileSync(output, `${JSON.stringify(call)}\n`);
        };
        await answerUntilStopped(listen, proxy(server, timeoutMs, write), (baseUrl) =>
          console.log(`platform records ${server} at ${baseUrl}`),
        );
        console.error(`recorded ${count} ${count === 1 ? "answer" : "answers"} in ${output}`);
      }),
    );
}

/** Passes requests to a server, and to no other, and passes to `write` what can be recorded. */
function proxy(server: string, timeoutMs: number, write: (call: RecordedCall) => void): Answering {
  const { origin } = new URL(server);
  const base = server.replace(/\/+$/, "");
  return async (incoming, response) => {
    const { body, target, request } = await readRequest(incoming);
    const isElsewhere = target.origin !== undefined && URL.parse(target.origin)?.origin !== origin;
    // A path that does not begin with a slash could become a part of the host.
    if (isElsewhere || !target.path.startsWith("/"))
      return writeStatus(response, 421, 3, `Invalid argument: this proxy passes requests to ${server} only`);
    const answer = await fetch(`${base}${target.path}`, {
      method: incoming.method!,
      headers: { ...passedOn(incoming.headers), "accept-encoding": "identity" },
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    }).catch((error: Error) => {
      throw new Error(`cannot reach ${server}: ${networkReason(error) ?? error.message}`);
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (request !== undefined) {
      const call = callOf(request, answer, bytes.toString());
      if (call !== undefined) write(call);
    }
    response.writeHead(answer.status, passedOn(Object.fromEntries(answer.headers))).end(bytes);
  };
}

/** The line of a call; undefined if it is not recorded. */
function callOf(request: RecordedRequest, { status, headers }: Response, text: string): RecordedCall | undefined {
  if (unrecorded.test(request.path)) return undefined;
  const kept = Object.fromEntries([...headers].filter(([name]) => recordedHeaders.includes(name)));
  if (text === "") return { ...request, status, headers: kept };
  const json = jsonOf(text);
  return json && { ...request, status, headers: kept, answer: withoutSecrets(json.value) };
}

function passedOn(headers: IncomingMessage["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || hopByHop.test(name) ? [] : [[name, String(value)]],
    ),
  );
}
