/** What every protocol reads alike, how much of what is wrong an answer tells, and by which names. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { builtInRole, freshName, freshUid, makeGroup, makeIdentity, makeRepo } from "./fixtures.ts";
import { expectStatus, fieldsOf, type Status, violationsOf } from "./outcome.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const service = "/platform.registry.v2.ReposService";

/** A frame of gRPC: no flags, length, content. */
function framed(content: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(content.length, 1);
  return Buffer.concat([prefix, content]);
}

/** The code that a message of JSON or of the wire format gets, by every way that there is to send it. */
const ways: Record<
  string,
  (platform: Platform, method: string, message: Buffer, kind: "json" | "proto") => Promise<string>
> = {
  "Connect by POST": (platform, method, message, kind) =>
    codeOf(platform.fetch(`${service}/${method}`, post(message, `application/${kind}`))),
  "Connect by POST, compressed": (platform, method, message, kind) =>
    codeOf(
      platform.fetch(
        `${service}/${method}`,
        post(gzipSync(message), `application/${kind}`, { "content-encoding": "gzip" }),
      ),
    ),
  "Connect by GET": (platform, method, message, kind) => {
    const packed = gzipSync(message).toString("base64url");
    return codeOf(
      platform.fetch(`${service}/${method}?encoding=${kind}&base64=1&compression=gzip&message=${packed}`, {
        headers: {},
      }),
    );
  },
  "gRPC-Web": async (platform, method, message, kind) => {
    const type = `application/grpc-web+${kind}`;
    const response = await platform.fetch(`${service}/${method}`, post(framed(message), type));
    const text = Buffer.from(await response.arrayBuffer()).toString("latin1");
    const status = response.headers.get("grpc-status") ?? /grpc-status: ?(\d+)/.exec(text)?.[1];
    return status === "3" ? "invalid_argument" : status === "0" ? "ok" : String(status);
  },
};

function post(body: Buffer, type: string, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: new Uint8Array(body), headers: { "content-type": type, ...headers } };
}

async function codeOf(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  return response.status === 200 ? "ok" : ((await response.json()) as { code: string }).code;
}

describe.each(Object.entries(ways))("%s", (_, send) => {
  onEveryServer("one reader of JSON", (platform) => {
    test.each<[string, string | Buffer, string]>([
      ["plain JSON", '{"pageSize":"1"}', "ok"],
      ["an unknown field, as protobuf clients may send", '{"nope":{"a":[1]}}', "ok"],
      ["a hexadecimal text for an integer", '{"pageSize":"0x10"}', "invalid_argument"],
      ["a text with spaces for an integer", '{"pageSize":" 1 "}', "invalid_argument"],
      ["malformed UTF-8", Buffer.from('{"name":"\xff"}', "latin1"), "invalid_argument"],
      ["a key twice", '{"name":"a","name":"b"}', "invalid_argument"],
      ["a field in both spellings", '{"pageSize":1,"page_size":1}', "invalid_argument"],
      ["a lone surrogate", '{"name":"\\ud800"}', "invalid_argument"],
      ["unknown fields without end", `{"x":${"[".repeat(5000)}${"]".repeat(5000)}}`, "invalid_argument"],
      ["a byte order mark", '\ufeff{"pageSize":1}', "invalid_argument"],
      ["more values than are read", `{"x":[${"1,".repeat(60_000)}1]}`, "invalid_argument"],
    ])("%s", async (_what, text, code) => {
      expect(await send(platform(), "ListRepos", Buffer.from(text), "json")).toBe(code);
    });
  });

  onEveryServer("one reader of the wire format", (platform) => {
    test.each<[string, Buffer, string]>([
      ["a message", Buffer.from([0x18, 1]), "ok"],
      ["groups without end", Buffer.alloc(5000, 0x7b), "invalid_argument"],
      ["groups in each other", Buffer.concat([Buffer.alloc(150, 0x7b), Buffer.alloc(150, 0x7c)]), "invalid_argument"],
      ["groups in each other, few", Buffer.concat([Buffer.alloc(90, 0x7b), Buffer.alloc(90, 0x7c)]), "ok"],
      ["malformed UTF-8", Buffer.from([0x12, 1, 0xff]), "invalid_argument"],
      ["more fields than are read", Buffer.alloc(120_000, Buffer.from([0x78, 1])), "invalid_argument"],
      ["a message cut off", Buffer.from([0x12, 9]), "invalid_argument"],
    ])("%s", async (_what, bytes, code) => {
      expect(await send(platform(), "ListRepos", bytes, "proto")).toBe(code);
    });
  });
});

onEveryServer("violations", (platform) => {
  test("twenty at most are told, the last of which says that there are more", async () => {
    const uidp = { ids: Array(200).fill("x") };
    const status = await platform().refused("ListRepos", { uidp }, "INVALID_ARGUMENT");
    expect(fieldsOf(status)).toEqual([...Array.from({ length: 19 }, (_, i) => `uidp.ids[${i}]`), ""]);
    expect(violationsOf(status)[19]).toEqual({ field: "", description: "more violations are not listed" });
    const twenty = await platform().refused("ListRepos", { uidp: { ids: Array(20).fill("x") } }, "INVALID_ARGUMENT");
    expect(fieldsOf(twenty)).toEqual(Array.from({ length: 20 }, (_, i) => `uidp.ids[${i}]`));
  });

  test("of a list that is too long, only that is told", async () => {
    const { parent, names } = { parent: platform().root, names: Array(40_000).fill("No Bundle") };
    for (const request of [
      {
        method: "ListAdvisories",
        json: { componentLocations: Array(201).fill("x") },
        field: "component_locations",
        most: 200,
      },
      {
        method: "CreateRepo",
        json: { parent, repo: { name: freshName(), bundles: names } },
        field: "bundles",
        most: 20,
      },
    ]) {
      const status = await platform().refused(request.method, request.json, "INVALID_ARGUMENT");
      expect(violationsOf(status)).toEqual([
        { field: request.field, description: `must have at most ${request.most} items` },
      ]);
    }
  });

  test("a violation of no field says so", async () => {
    const answer = await platform().fetch(`/registry/v2/repos/${platform().root}`, { method: "POST", body: "{" });
    const status = (await answer.json()) as Status;
    expect(violationsOf(status)).toEqual([{ field: "", description: "malformed JSON: unexpected end" }]);
  });

  test("an item of a batch is named by its place", async () => {
    const { uid: parent } = await makeGroup(platform());
    const roleUid = await builtInRole(platform(), "viewer");
    const good = { roleBinding: { identityUid: (await makeIdentity(platform(), parent)).uid, roleUid } };
    for (const [identityUid, description] of [
      [freshUid(), "no identity that can be bound in this group"],
      ["x", 'requests[1].role_binding.identity_uid must match "^[0-9a-f]{40}(/[0-9a-f]{16})*$"'],
      ["", "is required"],
      ["\0", "must not contain NUL"],
    ] as const) {
      const requests = [good, { roleBinding: { identityUid, roleUid } }];
      const outcome = await platform().call("BatchCreateRoleBindings", { parent, requests }, { over: "grpc" });
      if (outcome.ok) throw new Error("it was made");
      expectStatus(outcome.status, "INVALID_ARGUMENT", "iam");
      const [violation] = violationsOf(outcome.status);
      expect(violation.field).toBe("requests[1].role_binding.identity_uid");
      if (identityUid !== "x") expect(violation.description).toBe(description);
      else expect(violation.description).toContain("must match");
    }
  });

  test("what is missing is required, what is of an enum is told with its values", async () => {
    const repo = await makeRepo(platform(), platform().root);
    const tag = await platform().refused("CreateTag", { parent: repo.uid, tag: { name: "1" } }, "INVALID_ARGUMENT");
    expect(violationsOf(tag)).toEqual([{ field: "digest", description: "is required" }]);
    const tier = { parent: platform().root, repo: { name: freshName(), catalogTier: 77 } };
    const [violation] = violationsOf(await platform().refused("CreateRepo", tier, "INVALID_ARGUMENT"));
    expect(violation.description).toMatch(/^must be one of CATALOG_TIER_UNSPECIFIED, CATALOG_TIER_\w+/);
    const named = await platform().fetch(
      "/libraries/v2/artifacts?ecosystems=ECOSYSTEM_PYTHON&ecosystems=1&ecosystems=GOLD",
    );
    const [unknown] = violationsOf((await named.json()) as Status);
    expect(unknown.field).toBe("ecosystems[2]");
    expect(unknown.description).toMatch(/^must be one of ECOSYSTEM_UNSPECIFIED, /);
  });

  test("ranges are those that hold, and numbers agree with their nouns", async () => {
    const answer = await platform().fetch("/registry/v2/repos?page_size=x");
    expect(violationsOf((await answer.json()) as Status)).toEqual([
      { field: "page_size", description: "must be an integer from 0 to 2147483647" },
    ]);
    expect(violationsOf(await platform().refused("ListRepos", { pageSize: -1 }, "INVALID_ARGUMENT"))).toEqual([
      { field: "page_size", description: "must be 0 or more" },
    ]);
    const parent = platform().root;
    expect(violationsOf(await platform().refused("BatchCreateRoleBindings", { parent }, "INVALID_ARGUMENT"))).toEqual([
      { field: "requests", description: "is required" },
    ]);
  });

  test.each(["\u0001", "\u001b[31m", "\u007f", "\u0085", "\u2028", "\u2029"])(
    "no control character or separator of lines passes as one line: %j",
    async (character) => {
      const identity = {
        name: "x",
        description: `a${character}b`,
        claimMatch: { issuer: "https://i.example", subject: "s" },
      };
      const status = await platform().refused(
        "CreateIdentity",
        { parent: platform().root, identity },
        "INVALID_ARGUMENT",
      );
      expect(violationsOf(status)).toEqual([
        { field: "description", description: "must be one line without control characters" },
      ]);
    },
  );
});

onEveryServer(
  "limits of size",
  (platform) => {
    const told = "20000 bytes (--max-request-bytes)";

    test("are told with the setting that changes them, before and after decompression", async () => {
      const json = Buffer.alloc(20_001, " ");
      for (const [body, headers] of [
        [json, {}],
        [gzipSync(json), { "content-encoding": "gzip" }],
      ] as const) {
        const rest = await platform().fetch("/iam/v2/groups", post(body, "application/json", headers));
        expect([rest.status, ((await rest.json()) as Status).message]).toEqual([
          413,
          `Resource exhausted: the request body is larger than ${told}`,
        ]);
        const connect = await platform().fetch(`${service}/ListRepos`, post(body, "application/json", headers));
        expect(await connect.json()).toMatchObject({
          code: "resource_exhausted",
          message: `Resource exhausted: the request message is larger than ${told}`,
        });
      }
      const outcome = await platform().call("ListRepos", { name: "x".repeat(20_000) }, { over: "grpc" });
      if (outcome.ok) throw new Error("it was taken");
      expect(outcome.status.message).toBe(`Resource exhausted: the request message is larger than ${told}`);
    });

    test("of the URL and the header too", async () => {
      const url = await platform().fetch(`/registry/v2/repos?name=${"x".repeat(2000)}`);
      expect([url.status, ((await url.json()) as Status).message]).toEqual([
        414,
        "Invalid argument: the URL is longer than 2000 bytes (--max-url-bytes)",
      ]);
      const header = await platform().fetch("/registry/v2/repos", { headers: { "x-long": "x".repeat(6000) } });
      expect([header.status, ((await header.json()) as Status).message]).toEqual([
        431,
        "Resource exhausted: the header of the request is larger than 5000 bytes (--max-header-bytes)",
      ]);
    });
  },
  { maxRequestBytes: 20_000, maxUrlBytes: 2000, maxHeaderBytes: 5000 },
);

onEveryServer("Allow", (platform) => {
  test.each([
    ["/registry/v2/repos", "GET, HEAD"],
    ["/iam/v2/groups", "GET, HEAD, POST"],
    [`/registry/v2/repos/${"0".repeat(40)}/readme`, "GET, HEAD, PATCH"],
    ["/iam/v2/roleBindings:batchCreate", "POST"],
    ["/libraries/v2/artifacts/count", "GET, HEAD"],
  ])("of %s lists what the path serves", async (path, allowed) => {
    const answer = await platform().fetch(path, { method: "PUT", body: "{}" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allowed]);
  });
});
