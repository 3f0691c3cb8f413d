/**
 * Who may send how much: a body is read beyond 16 KiB once the token has been verified, whatever protocol it comes by.
 */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { frame, settings, types } from "../../src/http/http2/frames.ts";
import { HeaderReader } from "../../src/http/http2/hpack/hpack.ts";
import { RawHttp2Client } from "../http/http2/raw-client.ts";
import { type LiveServer, onCampaignServers } from "./live-server.ts";

/** One byte more than is read of anybody. */
const tooLong = 16 * 1024 + 1;

/** How a group is created by each protocol, with a body of its own form. */
const protocols = [
  { protocol: "REST", path: "/iam/v2/groups", type: "application/json" },
  { protocol: "Connect, JSON", path: "/platform.iam.v2.GroupsService/CreateGroup", type: "application/json" },
  { protocol: "Connect, binary", path: "/platform.iam.v2.GroupsService/CreateGroup", type: "application/proto" },
  { protocol: "gRPC-Web", path: "/platform.iam.v2.GroupsService/CreateGroup", type: "application/grpc-web+proto" },
  { protocol: "gRPC", path: "/platform.iam.v2.GroupsService/CreateGroup", type: "application/grpc+proto" },
];
const byHttp1 = protocols.filter(({ protocol }) => protocol !== "gRPC");
/** Who are not known, by their header. */
const senders = [[], ["authorization: Bearer e30.e30.e30"]];

/** The beginning of a message that never ends: for gRPC its frame says that it is long. */
function pieceOf(type: string, bytes: number): Buffer {
  const piece = Buffer.alloc(bytes, " ");
  if (type.startsWith("application/grpc")) piece.set([0, 0, 8, 0, 0]);
  return piece;
}

/** An answer that says that its caller is not known, in whatever form. */
function expectUnauthenticated(type: string, status: number, text: string): void {
  const [httpStatus, words] = type.startsWith("application/grpc")
    ? [200, /grpc-status.{0,4}16/]
    : [401, /nauthenticated/];
  expect([status, text]).toEqual([httpStatus, expect.stringMatching(words)]);
}

function suite(server: () => LiveServer): void {
  async function dial(): Promise<Socket> {
    const { hostname, port } = new URL(server().baseUrl);
    const socket = connect(Number(port), hostname).on("error", () => {});
    await once(socket, "connect");
    return socket;
  }

  /** Sends a request by HTTP/1.1 as far as it is given, and gives what comes before anything else is sent. */
  async function exchange(head: readonly string[], pieces: readonly Buffer[]): Promise<string> {
    const socket = await dial();
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    for (const piece of pieces) {
      await new Promise(setImmediate);
      socket.write(piece);
    }
    await expect.poll(() => text).toMatch(/nauthenticated|grpc-status/);
    socket.destroy();
    return text;
  }

  const chunk = (bytes: Buffer) => Buffer.concat([Buffer.from("1000\r\n"), bytes, Buffer.from("\r\n")]);
  /** Requests that are refused before they are whole. */
  const unfinished = (type: string): [fields: string[], pieces: Buffer[]][] => [
    [[`content-length: ${tooLong}`], []],
    [[`content-length: ${tooLong}`], [pieceOf(type, 1000)]],
    [["content-length: 100", "expect: 100-continue"], []],
    [
      ["transfer-encoding: chunked"],
      [chunk(pieceOf(type, 4096)), ...Array.from({ length: 4 }, () => chunk(Buffer.alloc(4096, " ")))],
    ],
  ];

  test.each(byHttp1)(
    "$protocol by HTTP/1.1: answered without the rest, and the connection closed",
    async (protocol) => {
      const { path, type } = protocol;
      const requests = senders.flatMap((sender) => unfinished(type).map((request) => [sender, ...request] as const));
      await Promise.all(
        requests.map(async ([sender, fields, pieces]) => {
          const head = [`POST ${path} HTTP/1.1`, "host: here", `content-type: ${type}`, ...fields, ...sender];
          const text = await exchange(head, pieces);
          expectUnauthenticated(type, Number(text.slice(9, 12)), text);
          expect(text).toMatch(/^connection: close\r$/im);
        }),
      );
    },
  );

  // At once: the server waits some seconds for the rest of a body before it resets the stream.
  test.concurrent.each(protocols)(
    "$protocol by HTTP/2: answered without the rest, and reset without an error",
    async (protocol) => {
      const { path, type } = protocol;
      const client = new RawHttp2Client(await dial(), [[settings.headerTableSize, 0]]);
      const declared = [`content-length: ${tooLong}`];
      const requests = senders.flatMap((sender) => [
        { lines: sender, pieces: [pieceOf(type, 16_000), Buffer.alloc(1000, " ")] },
        { lines: [...sender, ...declared], pieces: [pieceOf(type, 100)] },
      ]);
      await Promise.all(
        requests.map(async ({ lines, pieces }, i) => {
          const id = i * 2 + 1;
          const fields = ["content-type", type, ...lines.flatMap((line) => line.split(": "))];
          client.ask(id, path, { flag: 0, fields });
          for (const piece of pieces) client.socket.write(frame(types.data, 0, id, piece));
          await expect.poll(() => client.isAnswered(id)).toBe(true);
          const reader = new HeaderReader(2 ** 16); // without a table no list needs those before it
          const fieldsOf = client.of(types.headers, id).flatMap(({ payload }) => reader.read(payload).fields);
          expectUnauthenticated(type, Number(fieldsOf[1]), fieldsOf.join(" ") + client.contentOf(id));
          expect(await client.endOf(id)).toBe(0);
        }),
      );
      client.socket.destroy();
    },
  );

  test("whoever has a token may send more, in pieces, with and without a length, and is told to go on", async () => {
    const { baseUrl, root, admin } = server();
    const body = JSON.stringify({ name: "long", description: "x".repeat(tooLong) });
    for (const headers of [{ "content-length": String(body.length) }, {}, { expect: "100-continue" }]) {
      const request = httpRequest(`${baseUrl}/iam/v2/groups/${root}`, {
        method: "POST",
        headers: { authorization: `Bearer ${admin}`, "content-type": "application/json", ...headers },
      });
      const told = once(request, "continue");
      request.write(body.slice(0, 100));
      if ("expect" in headers) await told;
      request.end(body.slice(100));
      const [response] = await once(request, "response");
      const text = (await response.toArray()).join("");
      expect([response.statusCode, text]).toEqual([400, expect.stringContaining("description")]);
    }
  });

  test("the token service, where the token is in the body, takes 16 KiB", async () => {
    const body = new URLSearchParams({ subject_token: "a".repeat(tooLong) });
    const answer = await fetch(`${server().baseUrl}/sts/exchange`, { method: "POST", body });
    expect(answer.status).toBe(413);
  });

  test("what anybody may call takes 16 KiB, compressed or not", async () => {
    const { baseUrl } = server();
    const ping = (body: Uint8Array) =>
      fetch(`${baseUrl}/platform.ping.v2.PingService/Ping`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: Buffer.from(body),
      });
    expect((await ping(Buffer.from("{}"))).status).toBe(200);
    expect((await ping(Buffer.from(`{${" ".repeat(tooLong)}}`))).status).toBe(429);
  });
}

onCampaignServers("bodies before the token is verified", {}, suite);
onCampaignServers(
  "bodies before the token is verified, without the fast path",
  { fastPath: "off", http2: "node" },
  suite,
);

onCampaignServers("bodies under way", { maxPendingBodyBytes: "8388608" }, (server) => {
  /** Sends so much of a body by the administrator, and gives the connection and what came of it. */
  async function hold(bytes: number) {
    const { baseUrl, root, admin } = server();
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    const seen = { text: "" };
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        seen.text += chunk.toString("latin1");
      });
    socket.write(
      [
        `POST /iam/v2/groups/${root} HTTP/1.1`,
        "host: here",
        "content-type: application/json",
        `authorization: Bearer ${admin}`,
        "content-length: 1048576",
      ].join("\r\n"),
    );
    socket.write("\r\n\r\n");
    socket.write(Buffer.alloc(bytes, " "));
    return { socket, seen };
  }

  test("more than the total is UNAVAILABLE, says when to try again, and ends with the bodies", async () => {
    const held: Awaited<ReturnType<typeof hold>>[] = [];
    for (let i = 0; i < 8; i++) held.push(await hold(1_000_000));
    const late = await hold(600_000);
    const answers = () => [...held, late].map(({ seen }) => seen.text).filter((text) => text !== "");
    await expect.poll(answers).not.toEqual([]);
    const [text = ""] = answers();
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toMatch(/^retry-after: 1\r$/im);
    expect(text).toContain('"code":14');
    expect(text).toContain("--max-pending-body-bytes");
    for (const { socket } of [...held, late]) socket.destroy();
    const after = await hold(1000);
    after.socket.write(Buffer.alloc(1_047_576, " "));
    await expect.poll(() => after.seen.text).toMatch(/^HTTP\/1\.1 400 /);
    after.socket.destroy();
  });

  test("more than its part of one connection is RESOURCE_EXHAUSTED", async () => {
    const { baseUrl, root, admin } = server();
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const client = new RawHttp2Client(socket, []);
    const fields = ["content-type", "application/json", "authorization", `Bearer ${admin}`];
    const ids = Array.from({ length: 60 }, (_, i) => i * 2 + 1);
    for (const id of ids) client.ask(id, `/iam/v2/groups/${root}`, { flag: 0, fields });
    for (let piece = 0; piece < 3; piece++)
      for (const id of ids) socket.write(frame(types.data, 0, id, Buffer.alloc(16_000, " ")));
    await expect.poll(() => ids.some((id) => client.isAnswered(id))).toBe(true);
    const id = ids.find((each) => client.isAnswered(each))!;
    expect(await client.answerOf(id)).toMatchObject({ code: 8 });
    socket.destroy();
  });
});
