/** `platform upload`: sends documents about images and groups, as CI jobs do that have nothing but a token. */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Command } from "commander";
import {
  DocumentsService,
  type LeftOut,
  SbomDocumentSchema,
  UploadScanResponseSchema,
  VexDocumentSchema,
} from "../../../gen/platform/findings/v1/sboms_pb.ts";
import { createPlatformTransport } from "../../client/index.ts";
import { CommandFailure, ProgressLine } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { counted } from "../../violations.ts";
import { uidOf } from "../documents/lookup.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { findImage } from "./image-name.ts";

/** Pieces are cut to this: a message has at most 1 MiB. */
const pieceBytes = 256 * 1024;

const groupType = "iam.platform.internal/Group";

/** A piece of a document, in a message. */
interface Piece {
  readonly document: { readonly contentType: string; readonly data: Uint8Array<ArrayBuffer> };
}

interface Options {
  readonly image?: string;
  readonly group?: string;
  readonly contentType?: string;
  readonly json?: boolean;
}

export function makeCommand(): Command {
  return new Command("upload")
    .description("Send a document to a server. One that the server has already is answered as the first time.")
    .addCommand(
      uploadCommand(
        "sbom",
        "a bill of materials of an image: SPDX or CycloneDX in JSON, also in an envelope",
        "image",
      ).action((file: string, _: Options, self: Command) =>
        upload(file, self, SbomDocumentSchema, async (client, session, { image }, pieces) => {
          const place = await findImage(session, image!);
          const answer = await client.uploadSbom(withPlace(place, pieces));
          return { answer, text: `${answer.format}, ${counted(answer.componentCount, "package")}` };
        }),
      ),
    )
    .addCommand(
      uploadCommand("scan", "a report of Grype or Trivy about an image, in JSON", "image").action(
        (file: string, _: Options, self: Command) =>
          upload(file, self, UploadScanResponseSchema, async (client, session, { image }, pieces) => {
            const place = await findImage(session, image!);
            const answer = await client.uploadScan(withPlace(place, pieces));
            return { answer, text: `${answer.scanner}, ${counted(answer.findingCount, "finding")}` };
          }),
      ),
    )
    .addCommand(
      uploadCommand("vex", "a VEX document of a group: OpenVEX", "group").action(
        (file: string, _: Options, self: Command) =>
          upload(file, self, VexDocumentSchema, async (client, session, { group }, pieces) => {
            const place = { group: await uidOf(session, groupType, group!) };
            const answer = await client.uploadVex(withPlace(place, pieces));
            return { answer, text: `${answer.format}, ${counted(answer.packageCount, "package")}` };
          }),
      ),
    );
}

function uploadCommand(name: string, summary: string, about: "image" | "group"): Command {
  const command = new Command(name)
    .description(`Send ${summary}.`)
    .argument("<FILE>", "the document; - is standard input");
  if (about === "image") command.requiredOption("--image <REPO:TAG|REPO@DIGEST>", "the image that it is about");
  else command.requiredOption("--group <UID|NAME>", "the group whose images it is about");
  return withSession(command)
    .option("--content-type <TYPE>", "its media type, such as application/spdx+json", "application/json")
    .option("--json", "print the answer of the server as JSON");
}

type Client = ReturnType<typeof createClient<typeof DocumentsService>>;

/** Sends a file. @param send makes the call. */
async function upload<D extends DescMessage>(
  file: string,
  command: Command,
  schema: D,
  send: (
    client: Client,
    session: Session,
    options: Options,
    pieces: AsyncIterable<Piece>,
  ) => Promise<{
    readonly answer: MessageShape<D> & { readonly leftOut?: LeftOut | undefined };
    readonly text: string;
  }>,
): Promise<void> {
  const options = command.opts<Options>();
  await inSession(command, async (session) => {
    const { server, timeoutMs, token } = session;
    // The transport of other commands, over fetch, has no streams.
    const transport = createPlatformTransport({
      server,
      timeoutMs,
      retry: false,
      ...(token && { token }),
      transport: ({ baseUrl, interceptors }) =>
        createConnectTransport({ baseUrl, interceptors, httpVersion: "1.1", useBinaryFormat: true }),
    });
    const progress = new ProgressLine();
    const pieces = piecesOf(file, options.contentType ?? "", progress);
    let sent: Awaited<ReturnType<typeof send>>;
    try {
      sent = await send(createClient(DocumentsService, transport), session, options, pieces);
    } finally {
      progress.clear();
    }
    const { answer, text } = sent;
    if (options.json) console.log(JSON.stringify(toJson(schema, answer)));
    else {
      console.log(`${text}${leftText(answer.leftOut)}`);
      printLeft(answer.leftOut);
    }
  });
}

/** The pieces of a file, compressed. The server unpacks them. Errors: CommandFailure if it cannot be read. */
async function* piecesOf(file: string, contentType: string, progress: ProgressLine): AsyncGenerator<Piece> {
  let sentBytes = 0;
  for await (const chunk of compressed(chunksOf(file))) {
    for (let start = 0; start < chunk.length; start += pieceBytes) {
      const data = Uint8Array.from(chunk.subarray(start, start + pieceBytes));
      sentBytes += data.length;
      progress.show(() => `sent ${Math.ceil(sentBytes / 1024)} KiB of ${file}`);
      yield { document: { contentType, data } };
    }
  }
}

async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* file === "-" ? process.stdin : createReadStream(file);
  } catch (error) {
    throw new CommandFailure(`${file}: ${(error as Error).message}`);
  }
}

/** The chunks, compressed by gzip if they are not yet. */
async function* compressed(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { value: head = new Uint8Array() } = await chunks.next();
  async function* whole() {
    yield head;
    yield* chunks;
  }
  if (head[0] === 0x1f && head[1] === 0x8b) yield* whole();
  else yield* Readable.from(whole()).compose(createGzip()) as AsyncIterable<Uint8Array>;
}

async function* withPlace<P extends object>(place: P, pieces: AsyncIterable<Piece>): AsyncGenerator<P & Piece> {
  for await (const piece of pieces) yield { ...place, ...piece };
}

function leftText(left: LeftOut | undefined): string {
  const parts = [
    ["unmatched", left?.unmatchedCount ?? 0],
    ["refused", left?.refusedCount ?? 0],
    ["unread", left?.unread.length ?? 0],
  ] as const;
  return parts.map(([name, number]) => (number === 0 ? "" : `, ${name} ${number}`)).join("");
}

/** Says on standard error what was left out. */
function printLeft(left: LeftOut | undefined): void {
  for (const { name, reason } of left?.unmatched ?? []) console.error(printable(`unmatched: ${name}: ${reason}`));
  for (const { name, reason } of left?.refused ?? []) console.error(printable(`refused: ${name}: ${reason}`));
  for (const member of left?.unread ?? []) console.error(printable(`unread: ${member}`));
}
