/** `platform events list`, `show` and `replay`: what the operator sees of deliveries, and does about them. */
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type EmptyDatabase, emptySqlite } from "../../conformance/databases.ts";
import { type EventSink, jsonOf, startSink } from "../../conformance/event-sink.ts";
import { type PlatformProcess, startPlatform } from "../platform-process.ts";
import { type RestClient, type Row, restClient } from "../rest-client.ts";
import { runHere } from "../run-here.ts";

const env = { PLATFORM_ALLOW_LOOPBACK_SINKS: "true" };

let database: EmptyDatabase;
let server: PlatformProcess;
let sink: EventSink;
let rest: RestClient;
/** What the sink answers, by path. */
const answers = new Map<string, number>();
let good: Row;
let failing: Row;
let gone: Row;
let group: string;
let repo: Row;

beforeAll(async () => {
  sink = await startSink(({ path }, response: ServerResponse) => response.writeHead(answers.get(path) ?? 200).end());
  database = await emptySqlite();
  server = await startPlatform(["--database", database.url, "--listen", "127.0.0.1:0", "--log-level", "error"], {
    env,
  });
  const { stdout } = await runHere(["token", "--database", database.url]);
  rest = restClient(server.baseUrl, stdout.trim());
  const root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
  group = (await rest.post(`/iam/v2/groups/${root}`, { name: "events" })).body.uid;
  answers.set("/failing", 503);
  answers.set("/gone", 410);
  [good, failing, gone] = (await Promise.all(["/good", "/failing", "/gone"].map(subscribe))) as [Row, Row, Row];
  repo = (await rest.post(`/registry/v2/repos/${group}`, { name: "first" })).body;
  const isDisabled = async () =>
    (await rest.get(`/events/v2/subscriptions/${gone.uid}`)).body.disableTime !== undefined;
  await vi.waitUntil(
    async () => received("/good", repo.uid) === 1 && received("/failing", repo.uid) > 0 && (await isDisabled()),
    { timeout: 30_000 },
  );
});
afterAll(async () => {
  await server?.end("SIGKILL");
  await sink?.close();
  await database?.remove();
});

async function subscribe(path: string): Promise<Row> {
  return (await rest.post(`/events/v2/subscriptions/${group}`, { sink: sink.url(path) })).body;
}
const received = (path: string, subject: string) =>
  sink.at(path).filter(({ headers }) => headers["ce-subject"] === subject).length;
const events = (...args: string[]) => runHere(["events", ...args, "--database", database.url]);

async function list(...args: string[]): Promise<Row[]> {
  const { code, stdout, stderr } = await events("list", "--json", ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout === ""
    ? []
    : stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
}
/** The id of the event about the repo. */
const eventId = () =>
  String(sink.at("/good").find(({ headers }) => headers["ce-subject"] === repo.uid)!.headers["ce-id"]);

describe("list", () => {
  test("prints what became of deliveries, those of the newest events first", async () => {
    await expect.poll(() => list("--subscription", good.uid, "--state", "pending"), { interval: 500 }).toEqual([]);
    const all = await list();
    const times = all.map(({ eventTime }) => eventTime);
    expect(times).toEqual(times.toSorted().toReversed());
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    expect(all.filter((delivery) => delivery.eventId === eventId() && delivery.subscription === good.uid)).toEqual([
      {
        eventTime: repo.createTime,
        state: "delivered",
        attempts: 1,
        lastResult: "200",
        lastAttemptTime: time,
        nextAttemptTime: "",
        eventId: eventId(),
        subscription: good.uid,
      },
    ]);
    const [pending] = all.filter(({ eventId: id, subscription }) => id === eventId() && subscription === failing.uid);
    expect(pending).toMatchObject({ state: "pending", lastResult: "503", nextAttemptTime: time });
    expect(pending!.attempts).toBeGreaterThan(0);
  });

  test("prints those of one subscription, of one state, of some time", async () => {
    const bySubscription = await list("--subscription", failing.uid);
    expect(new Set(bySubscription.map(({ subscription }) => subscription))).toEqual(new Set([failing.uid]));
    const byState = await list("--state", "delivered");
    expect(new Set(byState.map(({ state }) => state))).toEqual(new Set(["delivered"]));
    expect(await list("--since", "2100-01-01")).toEqual([]);
    expect(await list("--since", "1h")).not.toEqual([]);
  });

  test("prints columns for people", async () => {
    const { stdout } = await events("list", "--subscription", good.uid);
    const [heading, ...lines] = stdout.trimEnd().split("\n");
    expect(heading).toBe(
      "EVENT TIME                STATE      ATTEMPTS  LAST                          NEXT ATTEMPT              EVENT                                 SUBSCRIPTION",
    );
    expect(lines.find((line) => line.includes(eventId()))).toBe(
      `${repo.createTime}  delivered  1         200                           -                         ${eventId()}  ${good.uid}`,
    );
  });
});

describe("list --limit", () => {
  test("prints so many, and says that there are more", async () => {
    const all = await list("--limit", "0");
    const first = await events("list", "--json", "--limit", "2");
    expect(first).toMatchObject({
      code: 0,
      stderr: "older deliveries exist: print more than 2 with --limit, or count them with --summary\n",
    });
    expect(
      first.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).eventId),
    ).toEqual(all.slice(0, 2).map((each) => each.eventId));
    expect((await events("list", "--limit", String(all.length))).stderr).toBe("");
  });

  test.each(["-1", "x", "1.5"])("%j is no limit", async (limit) => {
    expect(await events("list", `--limit=${limit}`)).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("list --summary", () => {
  test("counts deliveries by subscription and state", async () => {
    const all = await list("--limit", "0");
    const count = (subscription: string, state: string) =>
      all.filter((each) => each.subscription === subscription && each.state === state).length;
    const counts = await list("--summary");
    expect(counts.map(({ subscription }) => subscription)).toEqual([good.uid, failing.uid, gone.uid].toSorted());
    for (const { subscription, ...states } of counts)
      expect(states).toEqual({
        pending: count(subscription, "pending"),
        delivered: count(subscription, "delivered"),
        dead: count(subscription, "dead"),
      });
    expect(await list("--summary", "--subscription", good.uid)).toHaveLength(1);
    const { stdout } = await events("list", "--summary");
    expect(stdout).toMatch(/^PENDING +DELIVERED +DEAD +SUBSCRIPTION\n/);
  });

  test("takes no other filter", async () => {
    expect(await events("list", "--summary", "--state", "dead")).toMatchObject({ code: 1, stdout: "" });
  });
});

describe("show", () => {
  test("prints an event, its body and its deliveries", async () => {
    const { code, stdout } = await events("show", eventId());
    expect(code).toBe(0);
    expect(stdout).toContain(`id                ${eventId()}\n`);
    expect(stdout).toContain("type              dev.platform.api.platform.registry.repo.created.v1\n");
    expect(stdout).toContain(`subject           ${repo.uid}\n`);
    expect(stdout).toContain('    "name": "first"');
    expect(stdout).toMatch(new RegExp(`^\\S+ +delivered +1 +200 +- +${eventId()} +${good.uid}$`, "m"));
    expect(stdout).toMatch(new RegExp(`^\\S+ +pending +\\d+ +503 +\\S+ +${eventId()} +${failing.uid}$`, "m"));
  });

  test("prints it all as JSON", async () => {
    const { stdout } = await events("show", eventId(), "--json");
    const [delivered] = sink.at("/good").filter(({ headers }) => headers["ce-id"] === eventId());
    expect(JSON.parse(stdout)).toMatchObject({
      id: eventId(),
      source: `${server.baseUrl}/registry/v2/repos`,
      time: repo.createTime,
      group,
      data: jsonOf(delivered!),
      isWaiting: false,
      deliveries: expect.arrayContaining([expect.objectContaining({ subscription: good.uid, state: "delivered" })]),
    });
  });

  test("says when there is no such event", async () => {
    expect(await events("show", "nothing")).toEqual({
      code: 1,
      stdout: "",
      stderr: 'error: there is no event "nothing", or its retention has ended\n',
    });
  });
});

describe("replay", () => {
  test("delivers an event again, with the same id", async () => {
    const before = received("/good", repo.uid);
    const { code, stdout } = await events("replay", eventId(), "--subscription", good.uid);
    expect([code, stdout]).toEqual([0, "1 delivery scheduled\n"]);
    await expect.poll(() => received("/good", repo.uid)).toBe(before + 1);
    const ids = sink
      .at("/good")
      .flatMap(({ headers }) => (headers["ce-subject"] === repo.uid ? [headers["ce-id"]] : []));
    expect(new Set(ids)).toEqual(new Set([eventId()]));
  });

  test("asks which, where there are several", async () => {
    const { code, stdout, stderr } = await events("replay", eventId());
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("choose one with --subscription, or all with --all:");
    for (const { uid } of [good, failing]) expect(stderr).toContain(uid);
    const before = received("/good", repo.uid);
    const all = await events("replay", eventId(), "--all");
    expect(all.stdout).toMatch(/^[23] deliveries scheduled\n$/);
    await expect.poll(() => received("/good", repo.uid)).toBe(before + 1);
  });

  test("delivers what a subscription did not get, once it takes it", async () => {
    answers.set("/failing", 200);
    const { code, stdout } = await events("replay", "--subscription", failing.uid, "--state", "pending");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^(1 delivery|\d+ deliveries) scheduled\n$/)]);
    // A sink that has failed rests for up to a minute.
    await expect
      .poll(() => list("--subscription", failing.uid, "--state", "pending"), { timeout: 120_000, interval: 500 })
      .toEqual([]);
    expect((await list("--subscription", failing.uid)).map(({ state }) => state)).toContain("delivered");
  }, 150_000);

  test("finds nothing where there is nothing", async () => {
    const { code, stdout } = await events("replay", "--subscription", good.uid, "--state", "dead");
    expect([code, stdout]).toEqual([0, "0 deliveries scheduled\n"]);
  });

  test.each([
    [[], "an EVENT_ID, or --subscription and --state, is required"],
    [["--subscription", "a"], "an EVENT_ID, or --subscription and --state, is required"],
    [["nothing"], 'there is no event "nothing", or its retention has ended'],
  ])("%j is not enough", async (args, message) => {
    expect(await events("replay", ...args)).toEqual({ code: 1, stdout: "", stderr: `error: ${message}\n` });
  });
});

test.each(["list", "replay"])("%s knows no other states", async (command) => {
  const { code, stderr } = await events(command, "--state", "lost");
  expect(code).toBe(2);
  expect(stderr).toContain("Allowed choices are pending, delivered, dead.");
});

test("a database that does not exist has no events", async () => {
  const other = await emptySqlite();
  const { code, stderr } = await runHere(["events", "list", "--database", other.url]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("there is no database at")]);
  await other.remove();
});

describe("a deleted subscription", () => {
  test("receives nothing more, not even what waits", async () => {
    answers.set("/failing", 503);
    const other = await rest.post(`/registry/v2/repos/${group}`, { name: "second" });
    await expect.poll(() => received("/failing", other.body.uid)).toBeGreaterThan(0);
    expect((await rest.delete(`/events/v2/subscriptions/${failing.uid}`)).status).toBe(200);
    const count = sink.at("/failing").length;
    answers.set("/failing", 200);
    expect(await list("--subscription", failing.uid, "--state", "pending")).toEqual([]);
    const third = await rest.post(`/registry/v2/repos/${group}`, { name: "third" });
    await expect.poll(() => received("/good", third.body.uid)).toBe(1);
    expect(sink.at("/failing").length).toBeLessThanOrEqual(count + 1); // one may have been under way
  });
});
