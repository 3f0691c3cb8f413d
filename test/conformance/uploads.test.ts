/** Documents that are uploaded, over REST, gRPC and Connect, and bills of materials that are returned. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect as http2Connect } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Code, type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test } from "vitest";
import { DocumentsService } from "../../gen/platform/findings/v1/sboms_pb.ts";
import { defaultQuotas } from "../../src/quotas.ts";
import { vexBelow } from "../../src/services/index.ts";
import { trivyReport } from "../feeds/formats/vuln-reports.ts";
import type { Json } from "./contract.ts";
import { importImages } from "./feed-fixtures.ts";
import { digestOf, freshName, type Member, makeGroup, makeMember, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const ci = ["CAP_FINDINGS_SBOMS_CREATE", "CAP_VULN_REPORT_CREATE", "CAP_FINDINGS_VEX_CREATE", "CAP_TENANT_SBOMS_LIST"];
const type = "application/vnd.cyclonedx+json";

function sbom(...names: string[]) {
  const components = names.map((name) => ({
    type: "library",
    "bom-ref": name,
    name,
    version: "1.0.0",
    purl: `pkg:npm/${name}@1.0.0`,
    licenses: [{ license: { id: "MIT" } }],
  }));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    mood: 1,
    components: [...components, { type: "library", name: "nothing" }],
    dependencies: [{ ref: names[0], dependsOn: names.slice(1) }],
  };
}

function digestOfBytes(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Posts a body in pieces, as `curl --upload-file -` does. */
async function post(
  platform: Platform,
  path: string,
  pieces: readonly Uint8Array[],
  { token }: Pick<Member, "token">,
  headers: Readonly<Record<string, string>> = {},
) {
  const url = new URL(platform.baseUrl + path);
  const all = { authorization: `Bearer ${token}`, "content-type": type, ...headers };
  const sent = httpRequest(url, { method: "POST", headers: all });
  const answered = new Promise<{ status: number; json: Json }>((resolve, reject) => {
    sent.on("error", reject).on("response", async (response) => {
      let text = "";
      for await (const data of response) text += data;
      resolve({ status: response.statusCode!, json: text === "" ? {} : JSON.parse(text) });
    });
  });
  for (const piece of pieces) {
    if (sent.destroyed) break;
    sent.write(piece);
    await sleep(0);
  }
  sent.end();
  return answered;
}

function piecesOf(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  grpc: (baseUrl) => createGrpcTransport({ baseUrl }),
  "connect over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "connect binary over HTTP/2": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true }),
};

onEveryServer("uploads", (platform) => {
  let group: string;
  let repo: Json;
  let member: Member;
  let next = 100;
  const freshDigest = () => digestOf(next++);
  const bytesOf = (json: object) => Buffer.from(JSON.stringify(json));
  const sbomPath = (digest: string, uid = repo.uid) => `/findings/v1/images/${uid}/digests/${digest}/sboms`;
  const listed = (digest: string) =>
    platform().read("ListSbomDocuments", { uidp: { childrenOf: repo.uid }, digest }, { as: member.token });

  beforeAll(async () => {
    group = (await makeGroup(platform(), "")).uid;
    repo = await makeRepo(platform(), group);
    member = await makeMember(platform(), group, ci);
  });

  test("a bill of materials over REST, whole and in pieces, plain and compressed, is the same once", async () => {
    const digest = freshDigest();
    const bytes = bytesOf(sbom("a", "b"));
    const first = await post(platform(), sbomPath(digest), [bytes], member);
    expect(first).toEqual({
      status: 200,
      json: {
        uid: expect.stringMatching(new RegExp(`^${repo.uid}/[0-9a-f]{16}$`)),
        digest,
        documentDigest: digestOfBytes(bytes),
        format: "CycloneDX 1.6",
        mediaType: type,
        source: "",
        size: String(bytes.length),
        componentCount: 2,
        leftOut: {
          unmatchedCount: 1,
          unmatched: [{ name: "nothing", reason: "has no version" }],
          refusedCount: 0,
          refused: [],
          unread: ["mood"],
        },
        createTime: expect.any(String),
        updateTime: first.json.createTime,
        etag: expect.any(String),
      },
    });
    const packed = gzipSync(bytes);
    for (const [pieces, headers] of [
      [piecesOf(bytes, 7), {}],
      [piecesOf(packed, 9), { "content-encoding": "gzip" }],
      [piecesOf(packed, 1), {}],
      [[bytes], { "content-length": String(bytes.length), expect: "100-continue" }],
    ] as const)
      expect(await post(platform(), sbomPath(digest), pieces, member, headers)).toEqual(first);
    expect(await listed(digest)).toEqual({ sbomDocuments: [first.json], totalCount: "1", skipped: 0 });
  });

  test.each(Object.keys(transports))("a bill of materials over %s", async (name) => {
    const digest = freshDigest();
    const bytes = bytesOf(sbom(...Array.from({ length: 20_000 }, (_, i) => `p${i}`)));
    expect(bytes.length).toBeGreaterThan(1024 * 1024);
    const client = createClient(DocumentsService, transports[name]!(platform().baseUrl));
    async function* messages() {
      yield { repo: repo.uid, digest, document: { contentType: type, data: new Uint8Array() } };
      for (const data of piecesOf(bytes, 100_000)) yield { document: { data: Uint8Array.from(data) } };
    }
    const headers = { authorization: `Bearer ${member.token}` };
    const answer = await client.uploadSbom(messages(), { headers });
    expect(answer).toMatchObject({ digest, documentDigest: digestOfBytes(bytes), componentCount: 20_000 });
    expect(await client.uploadSbom(messages(), { headers })).toEqual(answer);
    const exported = await client.exportSbom({ repo: repo.uid, digest }, { headers });
    expect(exported.contentType).toBe(type);
    expect(digestOfBytes(exported.data)).toBe(digestOfBytes(bytes));
  });

  test("a document may be larger than what is held of other bodies, over each kind of connection", async () => {
    const properties = Array.from({ length: 12 }, (_, i) => ({
      name: `random ${i}`,
      value: randomBytes(512 * 1024).toString("hex"),
    }));
    const bytes = bytesOf({ ...sbom("a"), properties });
    expect(bytes.length).toBeGreaterThan(12 * 1024 * 1024);
    const [one, two] = [freshDigest(), freshDigest()];
    expect(await post(platform(), sbomPath(one), piecesOf(bytes, 1_000_000), member)).toMatchObject({ status: 200 });
    const session = http2Connect(platform().baseUrl);
    const sent = session.request({
      ":method": "POST",
      ":path": sbomPath(two),
      authorization: `Bearer ${member.token}`,
      "content-type": type,
    });
    const answered = once(sent, "response");
    sent.end(bytes);
    expect((await answered)[0][":status"]).toBe(200);
    let text = "";
    for await (const data of sent) text += data;
    expect(JSON.parse(text)).toMatchObject({ digest: two, documentDigest: digestOfBytes(bytes) });
    session.close();
  });

  test("a new one replaces the one before, with its packages", async () => {
    const digest = freshDigest();
    const [a, b] = [bytesOf(sbom("a")), bytesOf(sbom("b"))];
    for (const bytes of [a, b, a]) {
      const { json } = await post(platform(), sbomPath(digest), [bytes], member);
      const { sbomDocuments } = await listed(digest);
      expect(sbomDocuments).toEqual([json]);
      const made = await platform().fetch(`${sbomPath(digest)}:export?format=cyclonedx-1.6`);
      const names = ((await made.json()) as Json).components.map(({ name }: Json) => name);
      expect(names).toEqual([bytes === a ? "a" : "b", "nothing"]);
    }
  });

  test("is recorded in the audit log", async () => {
    const other = await makeRepo(platform(), group);
    await post(platform(), sbomPath(freshDigest(), other.uid), [bytesOf(sbom("audited"))], member);
    await post(platform(), sbomPath(freshDigest(), other.uid), [Buffer.from("{}")], member);
    const request = { scope: other.uid, method: "UploadSbom" };
    // Those of failures are written later.
    await expect.poll(async () => (await platform().ok("ListAuditRecords", request)).totalCount).toBe("2");
    const { records } = await platform().ok("ListAuditRecords", request);
    expect(records.map((record: Json) => [record.caller, record.scope, record.result])).toEqual([
      [member.uid, other.uid, "INVALID_ARGUMENT"],
      [member.uid, other.uid, "OK"],
    ]);
  });

  test("makes an event when it is stored, and none when it is there already", async () => {
    const { uid: parent } = await makeGroup(platform(), "");
    const other = await makeRepo(platform(), parent);
    const subscription = { sink: "https://receiver.invalid/events" };
    const { uid } = await platform().ok("CreateSubscription", { parent, subscription });
    const path = sbomPath(freshDigest(), other.uid);
    const admin = { token: platform().admin };
    const { json } = await post(platform(), path, [bytesOf(sbom("a"))], admin);
    await post(platform(), path, [bytesOf(sbom("a"))], admin);
    await makeRepo(platform(), parent); // its event is later than any of these
    const request = { subscription: uid };
    const deliveries = async () => (await platform().ok("ListDeliveries", request)).deliveries;
    await expect.poll(deliveries).toHaveLength(2);
    expect((await deliveries()).map(({ type, subject }: Json) => [type, subject])).toContainEqual([
      "dev.platform.api.findings.sbom_document.uploaded.v1",
      json.uid,
    ]);
  });

  describe("is refused", () => {
    const refusal = (status: number, text: string) => ({ status, json: { message: expect.stringContaining(text) } });
    const bytes = bytesOf(sbom("a"));

    test("without the capability, with a wrong token, and in another organisation, before the document comes", async () => {
      const stranger = await makeMember(platform(), (await makeGroup(platform(), "")).uid, ci);
      const reader = await makeMember(platform(), group, ["CAP_REPO_LIST"]);
      for (const [token, status] of [
        [stranger.token, 403],
        [reader.token, 403],
        [`${member.token.slice(0, -4)}AAAA`, 401],
      ] as const) {
        const digest = freshDigest();
        // The rest of the body never comes.
        const head = [
          `POST ${sbomPath(digest)} HTTP/1.1`,
          `Host: ${new URL(platform().baseUrl).host}`,
          `Authorization: Bearer ${token}`,
          "Content-Type: application/json",
          "Content-Length: 50000000",
          "",
          "{",
        ].join("\r\n");
        expect(await firstLine(platform(), head)).toContain(` ${status} `);
        await sleep(0);
        expect((await listed(digest)).totalCount).toBe("0");
      }
    });

    test.each<[string, () => Uint8Array[], Record<string, string>, number, string]>([
      ["broken JSON", () => [Buffer.from('{"bomFormat":')], {}, 400, "document: is not JSON"],
      ["something else", () => [Buffer.from("{}")], {}, 400, "document: is neither SPDX nor CycloneDX"],
      ["nothing", () => [], {}, 400, "document: is empty"],
      ["damaged gzip", () => [gzipSync(bytes).subarray(0, 40)], { "content-encoding": "gzip" }, 400, "is not gzip"],
      ["a damaged file", () => [gzipSync(bytes).subarray(0, 40)], {}, 400, "document: is not gzip"],
      ["an unknown coding", () => [bytes], { "content-encoding": "zip" }, 415, "unsupported content encoding"],
      ["one that says it is too large", () => [bytes], { "content-length": "70000000" }, 413, "larger than"],
      [
        "one that is too large when unpacked",
        () => [gzipSync(Buffer.alloc(65 * 1024 * 1024, " "))],
        { "content-encoding": "gzip" },
        413,
        "larger than",
      ],
      [
        "a file that is too large when unpacked",
        () => [gzipSync(Buffer.alloc(65 * 1024 * 1024, " "))],
        {},
        400,
        "has more than",
      ],
    ])("%s", async (_, pieces, headers, status, text) => {
      const digest = freshDigest();
      const answer = await post(platform(), sbomPath(digest), pieces(), member, headers);
      expect(answer).toMatchObject(refusal(status, text));
      expect((await listed(digest)).totalCount).toBe("0");
    });

    test("a digest that is none, and a repo that is not there", async () => {
      expect(await post(platform(), sbomPath("latest"), [bytes], member)).toMatchObject(refusal(400, "digest"));
      const gone = await makeRepo(platform(), group);
      await platform().ok("DeleteRepo", { uid: gone.uid });
      const answer = await post(platform(), sbomPath(freshDigest(), gone.uid), [bytes], member);
      expect(answer).toMatchObject(refusal(404, "does not exist"));
    });

    test("one that is cut off, and the server goes on", async () => {
      const digest = freshDigest();
      const socket = connect(Number(new URL(platform().baseUrl).port), "127.0.0.1");
      socket.on("error", () => {});
      const head = `POST ${sbomPath(digest)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${member.token}\r\n`;
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n10\r\n${'{"bomFormat":"Cy'}\r\n`);
      await sleep(50);
      socket.destroy();
      const client = createClient(DocumentsService, transports.grpc!(platform().baseUrl));
      const abort = new AbortController();
      async function* messages() {
        yield { repo: repo.uid, digest, document: { contentType: type, data: Uint8Array.from(bytes.subarray(0, 9)) } };
        abort.abort();
        await sleep(50);
        yield { document: { data: Uint8Array.from(bytes.subarray(9)) } };
      }
      const headers = { authorization: `Bearer ${member.token}` };
      const failure = await client.uploadSbom(messages(), { headers, signal: abort.signal }).catch((error) => error);
      expect((failure as ConnectError).code).toBe(Code.Canceled);
      await sleep(100);
      expect((await listed(digest)).totalCount).toBe("0");
      expect((await post(platform(), sbomPath(digest), [bytes], member)).status).toBe(200);
    });
  });

  test("goes with its repo", async () => {
    const other = await makeRepo(platform(), group);
    const digest = freshDigest();
    await post(platform(), sbomPath(digest, other.uid), [bytesOf(sbom("a"))], member);
    await platform().ok("DeleteRepo", { uid: other.uid });
    const list = { uidp: { childrenOf: other.uid } };
    expect((await platform().read("ListSbomDocuments", list)).totalCount).toBe("0");
  });

  test("a report of a scanner is stored once, with the tags of the digest", async () => {
    const digest = freshDigest();
    const name = freshName("tag");
    await makeTag(platform(), repo.uid, { name, digest });
    const bytes = bytesOf(trivyReport("2026-11-03T10:00:00Z"));
    const path = `/findings/v1/images/${repo.uid}/digests/${digest}/scans`;
    const first = await post(platform(), path, [bytes], member);
    expect(first).toMatchObject({
      status: 200,
      json: { digest, documentDigest: digestOfBytes(bytes), scanner: "TRIVY", scanTime: "2026-11-03T10:00:00.000Z" },
    });
    expect(await post(platform(), path, [bytes], member)).toEqual(first);
    const reports = await platform().read("v1.Vulnerabilities.ListVulnReports", { repoId: repo.uid, tag: name });
    expect(reports.items.map((item: Json) => item.digest)).toEqual([digest]);
    expect(await post(platform(), path, [Buffer.from("[]")], member)).toMatchObject({ status: 400 });
  });

  test("VEX of a group is replaced by its next version, and withdrawn", async () => {
    const { uid } = await makeGroup(platform(), group);
    const vex = (version: number, status: string) => ({
      "@context": "https://openvex.dev/ns/v0.2.0",
      "@id": "https://example.com/vex/1",
      author: "Example",
      timestamp: "2026-11-03T10:00:00Z",
      version,
      statements: [
        { vulnerability: { name: "CVE-2026-1" }, products: [{ "@id": "pkg:apk/wolfi/a@1.0-r0" }], status },
        { vulnerability: { name: "CVE-2026-1" }, products: [{ "@id": "nothing" }], status },
      ],
    });
    const path = `/findings/v1/groups/${uid}/vex`;
    const first = await post(platform(), path, [bytesOf(vex(1, "under_investigation"))], member);
    expect(first).toMatchObject({
      status: 200,
      json: { format: "OpenVEX", author: "Example", packageCount: 1, leftOut: { refusedCount: 1 } },
    });
    expect(await post(platform(), path, [bytesOf(vex(1, "under_investigation"))], member)).toEqual(first);
    const second = await post(platform(), path, [bytesOf(vex(2, "affected"))], member);
    expect(second.json.uid).toBe(first.json.uid);
    const { vexDocuments } = await platform().read("ListVexDocuments", { uidp: { childrenOf: uid } });
    expect(vexDocuments).toEqual([second.json]);
    const stated = await platform().write(async (session) => {
      for await (const page of vexBelow(session, uid)) return page;
      return [];
    });
    expect(stated).toMatchObject([{ group: uid, author: "Example", documents: [{ id: "a" }] }]);
    expect(stated[0]!.documents[0]!.advisories).toMatchObject([
      {
        id: "CVE-2026-1",
        packageUrl: "pkg:apk/wolfi/a@1.0-r0",
        events: [{ data: { case: "truePositiveDetermination" } }],
      },
    ]);
    await platform().ok("DeleteVexDocument", { uid: first.json.uid }, { as: member.token });
    expect((await platform().read("ListVexDocuments", { uidp: { childrenOf: uid } })).totalCount).toBe("0");
  });

  test("an index is exported with its platforms, the same each time", async () => {
    const [index, amd64, arm64] = [freshDigest(), freshDigest(), freshDigest()];
    await importImages(platform(), repo.uid, {
      digest: index,
      platforms: [
        { architecture: "amd64", digest: amd64 },
        { architecture: "arm64", digest: arm64 },
      ],
    });
    expect((await platform().fetch(`${sbomPath(index)}:export`)).status).toBe(400);
    await post(platform(), sbomPath(amd64), [bytesOf(sbom("a", "b"))], member);
    await post(platform(), sbomPath(arm64), [bytesOf(sbom("a", "c"))], member);
    for (const format of ["cyclonedx-1.6", "spdx-2.3"]) {
      const target = `${sbomPath(index)}:export?format=${format}`;
      const text = await (await platform().fetch(target)).text();
      expect(await (await platform().fetch(target)).text()).toBe(text);
      const json = JSON.parse(text);
      const names = (json.components ?? json.packages).map(({ name }: Json) => name);
      expect(names.filter((name: string) => name.length === 1).sort()).toEqual(["a", "a", "b", "c"]);
    }
  });
});

onEveryServer(
  "uploads above a quota",
  (platform) => {
    test("are refused, with the quota", async () => {
      const { uid: group } = await makeGroup(platform(), "");
      const repo = await makeRepo(platform(), group);
      const admin = { token: platform().admin };
      const send = (seed: number, bytes: Uint8Array, kind = "sboms") =>
        post(platform(), `/findings/v1/images/${repo.uid}/digests/${digestOf(seed)}/${kind}`, [bytes], admin);
      const small = Buffer.from(JSON.stringify(sbom("a")));
      expect((await send(1, small)).status).toBe(200);
      expect((await send(2, small)).status).toBe(200);
      expect(await send(3, small)).toMatchObject({
        status: 429,
        json: { message: expect.stringContaining("2 sbomDocuments") },
      });
      expect((await send(2, small)).status).toBe(200);
      const noise = { name: "noise", value: randomBytes(5000).toString("base64") };
      expect(await send(1, Buffer.from(JSON.stringify({ ...sbom("a"), properties: [noise] })))).toMatchObject({
        status: 429,
        json: { message: expect.stringContaining("5000 sbomBytes") },
      });
      const scan = (time: string) => Buffer.from(JSON.stringify(trivyReport(time)));
      expect((await send(1, scan("2026-11-03T10:00:00Z"), "scans")).status).toBe(200);
      expect(await send(1, scan("2026-11-04T10:00:00Z"), "scans")).toMatchObject({ status: 429 });
      const vex = (names: readonly string[]) => ({
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": "https://example.com/vex",
        author: "Example",
        version: 1,
        timestamp: "2026-01-01T00:00:00Z",
        statements: names.map((name) => ({
          vulnerability: { name },
          products: [{ "@id": "pkg:npm/a@1" }],
          status: "affected",
        })),
      });
      const state = (names: readonly string[]) =>
        post(platform(), `/findings/v1/groups/${group}/vex`, [Buffer.from(JSON.stringify(vex(names)))], admin);
      expect((await state(["CVE-2026-1"])).status).toBe(200);
      expect(await state(Array.from({ length: 100 }, (_, i) => `CVE-2026-${i + 1}`))).toMatchObject({
        status: 429,
        json: { message: expect.stringContaining("2000 vexStatementBytes") },
      });
    });
  },
  { quotas: { ...defaultQuotas, sbomDocuments: 2, sbomBytes: 5000, vulnReports: 1, vexStatementBytes: 2000 } },
);

/** The first line of the answer to what is sent; the connection is closed then. */
async function firstLine(platform: Platform, sent: string): Promise<string> {
  const socket = connect(Number(new URL(platform.baseUrl).port), "127.0.0.1");
  socket.write(sent);
  try {
    for await (const data of socket) return String(data).split("\r\n", 1)[0]!;
    return "";
  } finally {
    socket.destroy();
  }
}
