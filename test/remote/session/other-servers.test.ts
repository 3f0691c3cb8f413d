/** Servers that lack a method, are of something else, or cannot be reached. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runPlatform, temporaryFolder } from "../../cli/platform-process.ts";
import { runHere } from "../../cli/run-here.ts";
import { startForeign, startStub } from "../stub-server.ts";

const hint = "hint: is it the address of a server of this API, or does a proxy answer in its place?\n";
const env = { PLATFORM_TOKEN: "x", XDG_CONFIG_HOME: "/nonexistent" };

describe.each([
  ["an error page", 404, "text/html", "<p>no", /answers HTTP 404 with text\/html\n/],
  ["a page", 200, "text/html", "<p>hello", /answers with text\/html\n/],
  ["JSON of something else", 200, "application/json", '{"a":1}', /answers \w+ with none of the fields of its answer\n/],
  ["an array", 200, "application/json", "[]", /answers with JSON of another form\n/],
  ["half of JSON", 200, "application/json", '{"secret":', /answers with text that is not JSON\n/],
  ["another error", 400, "application/json", '{"detail":"no"}', /answers with an error of another form\n/],
])("%s", (_, status, type, text, message) => {
  test.each([
    ["get", "repo", "a"],
    ["list", "repos"],
    ["delete", "repo", "a", "--yes"],
    ["apply", "-f", "DOCUMENT"],
    ["login", "--with-token"],
  ])("%s %s", async (...args) => {
    const { url, stop } = await startForeign(status, type, text);
    onTestFinished(stop);
    const document = join(await temporaryFolder(), "repo.yaml");
    await writeFile(document, "kind: Repo\nspec: { name: a }\n");
    const words = args.map((word) => (word === "DOCUMENT" ? document : word));
    const outcome = await (args[0] === "login"
      ? runPlatform([...words, "--server", url], { env: { XDG_CONFIG_HOME: "/nonexistent" }, input: "xyz" })
      : runHere([...words, "--server", url], { env }));
    expect(outcome.code).not.toBe(0);
    expect(outcome.stderr).toContain(`${url} (--server) answers `);
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr).toContain(hint);
    expect(outcome.stderr).not.toContain("secret");
  });
});

test("an answer without fields where the contract allows it", async () => {
  const { url, stop } = await startForeign(200, "application/json", "{}");
  onTestFinished(stop);
  const words = ["call", "platform.delivery.v1.DeliveriesService/ListDeliveries", "--field", "type=none"];
  expect(await runHere([...words, "-o", "json", "--server", url], { env })).toMatchObject({ code: 0, stderr: "" });
});

test.each([["get", "repo", "a"], ["list", "repos"], ["delete", "repo", "a", "--yes"], ["ping"]])(
  "a method that the server lacks: %s",
  async (...args) => {
    const { url, stop } = await startStub(() => [501, { code: "unimplemented", message: "no such method" }]);
    onTestFinished(stop);
    const { code, stderr } = await runHere([...args, "--server", url], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^error: ${url} has no method platform\\.\\S+\nhint: ${url} is an older server, or none of this API\n$`,
      ),
    );
  },
);

test("a sign-in that the server refuses though it exchanges no tokens", async () => {
  const { url, stop } = await startForeign(
    401,
    "application/json",
    JSON.stringify({ code: "unauthenticated", message: "Unauthenticated: invalid bearer token" }),
  );
  onTestFinished(stop);
  const outcome = await runPlatform(["login", "--with-token", "--server", url], {
    env: { XDG_CONFIG_HOME: "/nonexistent" },
    input: "xyz",
  });
  expect(outcome).toMatchObject({ code: 4, stderr: expect.stringContaining("invalid bearer token") });
});

test("TLS at a port without it, and a port that HTTP clients do not use", async () => {
  const { url, stop } = await startForeign(200, "text/html", "");
  onTestFinished(stop);
  const tls = url.replace("http:", "https:");
  expect(await runHere(["list", "repos", "--server", tls], { env })).toMatchObject({
    code: 6,
    stderr: `error: cannot reach ${tls} (--server): the port does not speak TLS; is it http:// instead of https://?\n`,
  });
  expect(await runHere(["list", "repos", "--server", "http://127.0.0.1:1"], { env })).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/^error: cannot reach http:\S+ \(--server\): HTTP clients do not use this port/),
  });
});
