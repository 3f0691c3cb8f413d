/** Documents while they are received and read. */
import { createHash, randomBytes } from "node:crypto";
import { gzipSync, zstdDecompressSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { UploadSbomRequestSchema } from "../../../gen/platform/findings/v1/sboms_pb.ts";
import { maxUploadBytes, type ReceivedDocument, Uploads } from "../../../src/services/documents/uploads.ts";

const messageOf = (data: Uint8Array, contentType = "") =>
  create(UploadSbomRequestSchema, { document: { contentType, data: Uint8Array.from(data) } });

async function* messagesOf(...pieces: readonly Uint8Array[]) {
  for (const piece of pieces) yield messageOf(piece);
}

const signal = new AbortController().signal;
const same = async (document: ReceivedDocument) => document;
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("it succeeds"),
    (error) => error as ConnectError,
  );

function receive(uploads: Uploads, pieces: readonly Uint8Array[], first = new Uint8Array()) {
  return uploads.receive(messageOf(first, "text/x-odd"), messagesOf(...pieces), same);
}

test("pieces are one document, whatever their sizes, and a file of gzip is unpacked", async () => {
  const bytes = randomBytes(300_000);
  const packed = gzipSync(bytes);
  const expected = {
    documentDigest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    size: 300_000n,
    mediaType: "text/x-odd",
  };
  for (const pieces of [
    [bytes],
    [bytes.subarray(0, 1), new Uint8Array(), bytes.subarray(1)],
    [packed],
    [packed.subarray(0, 1), packed.subarray(1, 2), packed.subarray(2)],
  ]) {
    const document = await receive(new Uploads(), pieces);
    expect(document).toMatchObject(expected);
    expect(zstdDecompressSync(document.file).equals(bytes)).toBe(true);
  }
  expect(await receive(new Uploads(), [], bytes)).toMatchObject(expected);
});

test.each<[string, readonly Uint8Array[], string]>([
  ["nothing", [], "is empty"],
  ["a file of gzip with nothing", [gzipSync("")], "is empty"],
  ["a file of gzip that is cut off", [gzipSync(randomBytes(1000)).subarray(0, 500)], "is not gzip"],
  ["too much", [Buffer.alloc(maxUploadBytes), Buffer.alloc(1)], "has more than"],
  ["too much in a file of gzip", [gzipSync(Buffer.alloc(maxUploadBytes + 1))], "has more than"],
])("%s is refused", async (_, pieces, text) => {
  const failure = await failureOf(receive(new Uploads(), pieces));
  expect([failure.code, failure.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining(text)]);
});

test("what is held together is limited, until the work with it is done", async () => {
  const uploads = new Uploads(500_000);
  const bytes = randomBytes(200_000);
  const [working, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = uploads.receive(messageOf(new Uint8Array()), messagesOf(bytes), async () => {
    begun.resolve();
    await working.promise;
  });
  await begun.promise;
  const second = uploads.receive(messageOf(new Uint8Array()), messagesOf(bytes), async () => {
    expect((await failureOf(receive(uploads, [bytes]))).code).toBe(Code.Unavailable);
    working.resolve();
    await first;
    await receive(uploads, [bytes]);
  });
  await second;
});

test("documents are read one after the other, one that fails does not stop the next, and one whose call has ended is not read", async () => {
  const uploads = new Uploads();
  const broken = await receive(uploads, [Buffer.from("{")]);
  const whole = await receive(uploads, [Buffer.from('{"bomFormat":"CycloneDX","specVersion":"1.6","mood":1}')]);
  const ended = new ConnectError("gone", Code.Canceled);
  const results = await Promise.allSettled([
    uploads.read("sbom", broken, signal),
    uploads.read("sbom", whole, AbortSignal.abort(ended)),
    uploads.read("sbom", whole, signal),
  ]);
  expect(results).toMatchObject([
    { reason: { code: Code.InvalidArgument } },
    { reason: ended },
    {
      value: {
        read: { format: "CycloneDX 1.6", packages: [] },
        notes: { left: { refusedCount: 0, unread: ["mood"] } },
      },
    },
  ]);
});
