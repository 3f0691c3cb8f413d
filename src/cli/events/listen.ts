/** `platform events listen`: a local sink for tests, which verifies and prints deliveries. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Command } from "commander";
import { CommandFailure, stopSignal, wholeNumber } from "../../command/index.ts";
import { baseUrlOf } from "../../config/index.ts";
import { chosenServer, withServer } from "../../remote/index.ts";
import { settingsOf, withSettings } from "../settings.ts";
import { formatDelivery } from "./format.ts";
import { createVerifier } from "./verify.ts";

const host = "127.0.0.1";
const maxBodyBytes = 1024 * 1024;
const requestTimeoutMs = 15_000;

interface Options {
  readonly port: number;
  readonly secret?: string;
  readonly group?: string;
  readonly count?: number;
}

export async function listenCommand(): Promise<Command> {
  const command = withSettings(await withServer(new Command("listen")), ["baseUrl", "issuer"])
    .description(
      "receive events on this machine, verify them and print them; the keys are those of the server, or of --issuer",
    )
    .option("--port <PORT>", `port on ${host}; 0 lets the system choose`, wholeNumber(0, 65_535), 8090)
    .option("--secret <SECRET>", "signing secret of the subscription; without it, signatures are not checked")
    .option("--group <UID>", "group of the subscription; without it, any group is accepted")
    .option("--count <N>", "stop after this number of deliveries", wholeNumber(1));
  return command.action(async () => {
    const config = settingsOf(command);
    const { secret, group, port, count = Number.POSITIVE_INFINITY } = command.opts<Options>();
    if (secret !== undefined && !/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret))
      throw new CommandFailure("--secret must be `whsec_` and base64, as CreateSubscription returned it", 2);
    const issuer =
      config.issuer ?? config.baseUrl ?? (await chosenServer(command))?.replace(/\/$/, "") ?? baseUrlOf(config);
    const stopped = stopSignal();
    const counted = new AbortController();
    const server = createServer(sink({ issuer, group, secret, count, stop: () => counted.abort() }));
    server.requestTimeout = requestTimeoutMs;
    server.listen(port, host);
    await once(server, "listening");
    const { port: opened } = server.address() as AddressInfo;
    process.stdout.write(`listening on http://${host}:${opened} for events signed by ${issuer}\n\n`);
    await closeAfter(server, AbortSignal.any([stopped.signal, counted.signal]));
    stopped.release();
  });
}

interface SinkOptions {
  readonly issuer: string;
  readonly group: string | undefined;
  readonly secret: string | undefined;
  readonly count: number;
  stop(): void;
}

function sink({ issuer, group, secret, count, stop }: SinkOptions): RequestListener {
  const verify = createVerifier({ issuer, group, secret, now: Date.now });
  const isColoured = process.stdout.isTTY === true && !process.env.NO_COLOR;
  let deliveries = 0;
  return async (request, response) => {
    const receiveTime = new Date();
    if (request.method !== "POST") {
      response.writeHead(405, { allow: "POST" }).end();
      return;
    }
    const body = await readBody(request);
    if (body === undefined) {
      if (!request.destroyed) response.writeHead(413, { connection: "close" }).end();
      return;
    }
    const received = { headers: request.headers, body };
    const verdict = await verify(received);
    process.stdout.write(formatDelivery({ ...received, receiveTime, verdict }, isColoured));
    response.writeHead(verdict.status).end();
    if (++deliveries >= count) response.once("close", stop);
  };
}

/** undefined if the body is too large or the sender aborted. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBodyBytes) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined; // the sender aborted
  }
  return Buffer.concat(chunks);
}

async function closeAfter(server: Server, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
  server.close();
  server.closeAllConnections();
}
