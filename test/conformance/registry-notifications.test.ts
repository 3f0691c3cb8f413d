import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import {
  type FakeRegistry,
  manifestFor,
  putManifest,
  startFakeRegistry,
  types,
} from "../feeds/registries/oci/fake-registry.ts";
import type { Json } from "./contract.ts";
import { freshName, makeGroup } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const secret = "a-shared-secret-of-the-registry";
const eventsType = "application/vnd.docker.distribution.events.v1+json";

onEveryServer("registry notifications", (platform) => {
  let registry: FakeRegistry;
  let group: string;
  let repository: string;

  beforeAll(async () => {
    registry = await startFakeRegistry();
    group = (await makeGroup(platform())).uid;
    await platform().restart({ registryUrl: registry.url, registryGroup: group, registrySecret: secret });
  });
  afterAll(() => registry?.stop());
  beforeEach(() => {
    repository = freshName("repo");
    registry.asked.length = 0;
  });

  function send(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const all = { authorization: `Bearer ${secret}`, "content-type": eventsType, ...headers };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return platform().fetch("/registry/notifications", { method: "POST", body: text, headers: all });
  }

  function notification(action: string, target: Json): Json {
    const long = new Date(Date.now() - 3_600_000).toISOString(); // old news are not waited for
    const request = { id: "r", addr: "192.0.2.1:1234", host: "registry", method: "PUT", useragent: "test" };
    return { id: crypto.randomUUID(), timestamp: long, action, target: { repository, ...target }, request };
  }

  async function notify(...events: Json[]): Promise<void> {
    const answer = await send({ events });
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  }

  /** Puts an image into the registry. */
  function put(tag: string, size: number): string {
    return putManifest(
      registry,
      repository,
      manifestFor(registry, repository, { architecture: "amd64", os: "linux" }, size),
      { tag },
    );
  }

  async function stored(): Promise<Record<string, string>> {
    const { repos } = await platform().ok("ListRepos", { name: repository, uidp: { childrenOf: group } });
    if (repos.length === 0) return {};
    const { tags } = await platform().ok("ListTags", { uidp: { childrenOf: repos[0].uid }, orderBy: "name" });
    return Object.fromEntries(tags.map((tag: Json) => [tag.name, tag.digest]));
  }

  it("are applied when they are answered: repos, tags and images of a push", async () => {
    const digest = put("v1", 11);
    const event = notification("push", { mediaType: types.manifest, digest, tag: "v1" });
    await notify(event);
    expect(await stored()).toEqual({ v1: digest });
    const { repos } = await platform().ok("ListRepos", { name: repository });
    expect(await platform().ok("GetSize", { repoUid: repos[0].uid, digest })).toEqual({
      size: "111",
      architecture: "amd64",
    });
    const { createTime, updateTime } = (await platform().ok("ListTags", { uidp: { childrenOf: repos[0].uid } }))
      .tags[0];
    expect(createTime).toBe(updateTime);
  });

  it("do nothing the second time, by their id and by their digest", async () => {
    const digest = put("v1", 1);
    const event = notification("push", { mediaType: types.manifest, digest, tag: "v1" });
    await notify(event);
    const asked = registry.asked.length;
    await notify(event);
    expect(registry.asked).toHaveLength(asked);
    const tagOf = async () => (await platform().ok("ListTags", { digest, name: "v1" })).tags[0];
    const before = await tagOf();
    await notify(notification("push", { mediaType: types.manifest, digest, tag: "v1" }));
    expect(registry.asked.slice(asked)).toEqual([
      `HEAD /v2/${repository}/manifests/v1`,
      `GET /v2/${repository}/referrers/${digest}`,
    ]);
    expect(await tagOf()).toEqual(before);
  });

  it("are hints: what counts is what the registry says now", async () => {
    const [first, second] = [put("v1", 1), put("v1", 2)];
    await notify(notification("push", { mediaType: types.manifest, digest: second, tag: "v1" }));
    await notify(notification("push", { mediaType: types.manifest, digest: first, tag: "v1" }));
    expect(await stored()).toEqual({ v1: second });
    await notify(notification("delete", { digest: second, tag: "v1" }));
    expect(await stored()).toEqual({ v1: second });
    await notify(notification("push", { mediaType: types.manifest, digest: first, tag: "never" }));
    expect(await stored()).toEqual({ v1: second });
  });

  it("delete by digest all tags that name it, and by tag just that", async () => {
    const [one, other] = [put("a", 1), put("c", 2)];
    put("b", 1);
    for (const tag of ["a", "b", "c"])
      await notify(notification("push", { mediaType: types.manifest, digest: tag === "c" ? other : one, tag }));
    expect(await stored()).toEqual({ a: one, b: one, c: other });
    for (const reference of ["a", "b", one]) registry.routes.delete(`/v2/${repository}/manifests/${reference}`);
    await notify(notification("delete", { digest: one }));
    expect(await stored()).toEqual({ c: other });
    const { repos } = await platform().ok("ListRepos", { name: repository });
    await platform().refused("GetSize", { repoUid: repos[0].uid, digest: one }, "NOT_FOUND");
    registry.routes.delete(`/v2/${repository}/manifests/c`);
    await notify(notification("delete", { tag: "c" }));
    expect(await stored()).toEqual({});
  });

  it("pass over what could never be applied, and go on", async () => {
    const digest = put("v1", 1);
    const wrong = putManifest(registry, repository, { schemaVersion: 1 }, { tag: "broken", type: "text/plain" });
    await notify(
      notification("push", { repository: "Not/A/Name", mediaType: types.manifest, digest, tag: "v1" }),
      notification("push", { mediaType: types.manifest, digest, tag: "not a tag" }),
      notification("push", { mediaType: types.manifest, digest: wrong, tag: "broken" }),
      notification("push", { mediaType: "application/octet-stream", digest }),
      notification("mount", { mediaType: "application/octet-stream", digest }),
      notification("pull", { mediaType: types.manifest, digest }),
      notification("something new", { digest }),
      notification("push", { mediaType: types.manifest, digest, tag: "v1" }),
    );
    expect(await stored()).toEqual({ broken: wrong, v1: digest });
  });

  it("are not taken when the registry cannot be asked, so that it sends them again", async () => {
    const digest = put("v1", 1);
    const path = `/v2/${repository}/manifests/v1`;
    const route = registry.routes.get(path)!;
    registry.routes.set(path, (_, response) => response.writeHead(503).end());
    const event = notification("push", { mediaType: types.manifest, digest, tag: "v1" });
    const answer = await send({ events: [event] });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: 14, message: "Unavailable: the registry cannot be read" });
    expect(await stored()).toEqual({});
    registry.routes.set(path, route);
    await notify(event);
    expect(await stored()).toEqual({ v1: digest });
  });

  it("are in the audit log as the registry's", async () => {
    const digest = put("v1", 1);
    await notify(notification("push", { mediaType: types.manifest, digest, tag: "v1" }));
    const records = await platform().write((session) =>
      session.scan({ name: "audit_log", columns: { caller: "text", method: "text" } }, { limit: 10_000 }),
    );
    const methods = records.filter(({ columns }) => columns.caller === "registry").map(({ columns }) => columns.method);
    expect(methods).toContain("platform.registry.v2.TagsService/CreateTag");
    expect(methods).toContain("platform.registry.v2.ReposService/CreateRepo");
  });

  test.each([
    ["no secret", { authorization: "" }],
    ["another secret", { authorization: "Bearer a-shared-secret-of-the-registrY" }],
    ["the start of the secret", { authorization: `Bearer ${secret.slice(0, -1)}` }],
    ["another scheme", { authorization: `Basic ${secret}` }],
  ])("are refused with %s", async (_, headers) => {
    const answer = await send({ events: [] }, headers);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(await answer.json()).toMatchObject({
      code: 16,
      message: "Unauthenticated: missing or wrong registry secret",
      details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNAUTHENTICATED" }],
    });
  });

  it("are refused with an administrator's token", async () => {
    expect((await send({ events: [] }, { authorization: `Bearer ${platform().admin}` })).status).toBe(401);
  });

  const good = { id: "1", timestamp: "2026-01-01T00:00:00Z", action: "push" };
  const target = { repository: "r", digest: `sha256:${"0".repeat(64)}` };
  test.each<[string, unknown, string]>([
    ["no JSON", "{", "the body is not JSON"],
    ["nothing", "", "the body is not JSON"],
    ["a list", [], "events: must be a list"],
    ["null", null, "events: must be a list"],
    ["too many", { events: Array(1001).fill({ ...good, target }) }, "events: must be at most 1000"],
    ["an event that is none", { events: [7] }, "events[0].timestamp"],
    ["an event without id", { events: [{ ...good, id: "", target }] }, "events[0].id"],
    ["a time that is none", { events: [{ ...good, timestamp: "yesterday", target }] }, "events[0].timestamp"],
    ["no repository", { events: [{ ...good, target: { digest: target.digest } }] }, "events[0].target.repository"],
    ["a digest that is none", { events: [{ ...good, target: { ...target, digest: "x" } }] }, "events[0].target.digest"],
    ["neither digest nor tag", { events: [{ ...good, target: { repository: "r" } }] }, "events[0].target"],
  ])("are refused whole with %s", async (_, body, part) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    const status = (await answer.json()) as Json;
    expect(status.code).toBe(3);
    expect(status.message).toContain(part);
  });

  it("are refused when they are too large, of another type, or not posted", async () => {
    expect((await send(`{"events":[],"x":"${"x".repeat(2 * 1024 * 1024)}"}`)).status).toBe(413);
    expect((await send({ events: [] }, { "content-type": "text/plain" })).status).toBe(415);
    const answer = await platform().fetch("/registry/notifications");
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

onEveryServer("registry notifications without settings", (platform) => {
  it("have no endpoint", async () => {
    const answer = await platform().fetch("/registry/notifications", { method: "POST", body: "{}" });
    expect(answer.status).toBe(404);
  });
});
