/** What commands print, on terminals and into pipes. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { widthOf } from "../../../src/remote/print/text.ts";
import { runHere } from "../../cli/run-here.ts";
import { startStub } from "../stub-server.ts";
import { hasTerminal, onTerminal, program } from "../terminal.ts";

const evil = "\u001b[2J\u009b31mred\u202e\u007f";
const uid = `${"0a".repeat(20)}/${"1b".repeat(8)}`;

let server: Awaited<ReturnType<typeof startStub>>;
let env: Record<string, string>;

/** By the name that is asked for: nothing, an error, many roles or one with control characters. */
beforeAll(async () => {
  server = await startStub(({ name, pageToken }) => {
    if (name === "none") return [200, { totalCount: "0" }];
    if (name === "error") return [404, { code: "not_found", message: `no ${evil}` }];
    if (name === "many") {
      const page = Number(pageToken || 0);
      const roles = Array.from({ length: 200 }, (_, i) => ({ uid, name: `r${page}-${i}`, description: "many" }));
      return [200, { roles, nextPageToken: `${page + 1}` }];
    }
    return [200, { roles: [{ uid: `${uid}${evil}`, name: evil, description: evil }], totalCount: 1 }];
  });
  env = { PLATFORM_SERVER: server.url };
});
afterAll(() => server.stop());

const print = (...args: string[]) => runHere(["list", "roles", ...args], { env });

describe("control characters", () => {
  test.each(["table", "wide", "json", "yaml", "name"])("of values are never printed raw: %s", async (format) => {
    const { code, stdout } = await print("-o", format);
    expect(code).toBe(0);
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(stdout).toContain("red");
    if (format === "json") expect(JSON.parse(stdout)[0]).toMatchObject({ name: evil });
  });

  test("of errors are never printed raw", async () => {
    const { code, stderr } = await print("--name", "error");
    expect(code).toBe(3);
    expect(stderr).toMatch(/^error: no \\u001b\[2J\\u009b31mred\\u202e\\u007f\n$/);
  });
});

test.each<[string, string]>([
  ["table", "NAME  UID  DESCRIPTION  CREATE-TIME\n"],
  ["json", "[]\n"],
  ["yaml", ""],
  ["name", ""],
])("an empty list as %s", async (format, printed) => {
  expect(await print("--name", "none", "-o", format)).toEqual({ code: 0, stdout: printed, stderr: "" });
});

describe.runIf(hasTerminal)("on a terminal", () => {
  const line = "platform list roles --name many --limit 3";

  test.each([80, 160])("of %i columns", async (columns) => {
    const shown = (await onTerminal(line, { columns, env })).split("\n");
    expect(shown[0]).toContain("\u001b[1mNAME");
    for (const text of shown.slice(1)) expect(widthOf(text)).toBeLessThanOrEqual(columns);
  });

  test("NO_COLOR turns off colours, and COLUMNS sets the width", async () => {
    const shown = await onTerminal(line, { columns: 160, env: { ...env, NO_COLOR: "1", COLUMNS: "40" } });
    expect(shown).not.toContain("\u001b");
    for (const text of shown.split("\n")) expect(widthOf(text)).toBeLessThanOrEqual(40);
  });

  test.each(["-5", "0", "wide", "1e9"])("COLUMNS=%s is survived", async (COLUMNS) => {
    expect(await onTerminal(line, { env: { ...env, COLUMNS } })).toContain("r0-2");
  });
});

test.each(["table", "json", "yaml", "name"])("a reader that ends, as head does, ends a list of %s", async (format) => {
  const line = `${program} list roles --name many --all -o ${format} | head -n 2; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", line], { env: { ...process.env, ...env } });
  expect({ status: stdout.trimEnd().split("\n").at(-1), stderr }).toEqual({ status: "141", stderr: "" });
});
