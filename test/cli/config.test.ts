/** `platform config`. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/cli/config/schema.ts";
import { type Config, flagOf, readSettings, settings } from "../../src/config/index.ts";
import { selfSigned } from "../http/self-signed.ts";
import { cleanEnvironment, temporaryFolder } from "./platform-process.ts";
import { programEntry } from "./program.ts";
import { runHere } from "./run-here.ts";

const keys = Object.keys(settings) as (keyof Config)[];
const key = "5ecre7".padEnd(64, "0").replace("r", "c");

async function fileOf(content: object): Promise<string> {
  const path = join(await temporaryFolder(), "platform.json");
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe("print", () => {
  test("tells every setting, its value and its origin, and shows no secret", async () => {
    const file = await fileOf({ database: "postgres://me:p@ss/w0rd@db/platform?sslpassword=hidden", maxCalls: 7 });
    const args = ["config", "print", "--config", file, "--page-token-key", key, "--listen", "9000"];
    const { code, stdout, stderr } = await runHere(args, { env: { PLATFORM_LOG_LEVEL: "warn" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [heading, ...rows] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    expect(heading).toEqual(["SETTING", "VALUE", "ORIGIN"]);
    expect(rows.map(([flag]) => flag)).toEqual(keys.map(flagOf));
    expect(rows).toEqual(
      expect.arrayContaining([
        ["--listen", "9000", "--listen"],
        ["--log-level", "warn", "PLATFORM_LOG_LEVEL"],
        ["--max-calls", "7", `${file}: maxCalls`],
        ["--database", "postgres://me:***@db/platform?sslpassword=***", `${file}: database`],
        ["--page-token-key", "***", "--page-token-key"],
        ["--secret-key", "database", "default"],
        ["--max-url-bytes", "8192", "default"],
      ]),
    );
    for (const secret of ["w0rd", "hidden", "5ec"]) expect(stdout).not.toContain(secret);
  });

  test("as JSON, with what is wrong on standard error", async () => {
    const { code, stdout, stderr } = await runHere(["config", "print", "--json", "--max-calls", "x"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "error: --max-calls: must be a number from 1 to 1000000\n",
    });
    const printed = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(printed.map(({ setting }) => setting)).toEqual(keys);
    expect(printed).toContainEqual({ setting: "maxCalls", value: "x", origin: "--max-calls", reloadable: true });
    expect(printed).toContainEqual({ setting: "baseUrl", value: null, origin: "default", reloadable: false });
  });

  const noTerminal = spawnSync("script", ["--version"]).error?.message;
  if (noTerminal !== undefined) console.warn(`a table on a terminal is not tested: ${noTerminal}`);

  test.skipIf(noTerminal !== undefined)("fits a terminal", () => {
    const print = `stty cols 80; ${process.execPath} ${programEntry()} config print`;
    const { stdout } = spawnSync("script", ["-qec", print, "/dev/null"], {
      encoding: "utf8",
      env: { ...cleanEnvironment(), PLATFORM_DATABASE: `sqlite:/${"long/".repeat(30)}` },
    });
    const lines = stdout.trimEnd().split(/\r?\n/);
    expect(lines.length).toBe(keys.length + 1);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines).toContainEqual(expect.stringMatching(/^--database {2,}sqlite:\/long.*… {2}PLATFORM_DATABASE$/));
  });

  test("a setting whose name is that of a secret is one, or a file", () => {
    for (const [name, { isSecret, placeholder }] of Object.entries(settings)) {
      if (/key|secret|password|token|credential/i.test(name))
        expect(isSecret === true || placeholder === "FILE", name).toBe(true);
    }
  });
});

describe("check", () => {
  test("accepts settings that a server can start with", async () => {
    const folder = await temporaryFolder();
    const { cert, key } = selfSigned();
    writeFileSync(join(folder, "cert.pem"), cert);
    writeFileSync(join(folder, "key.pem"), key);
    const tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    expect(await runHere(["config", "check", ...tls], { cwd: folder })).toEqual({
      code: 0,
      stdout: "the settings are valid\n",
      stderr: "",
    });
    writeFileSync(join(folder, "key.pem"), selfSigned().key);
    expect(await runHere(["config", "check", ...tls], { cwd: folder })).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: --tls-key: key.pem is not the key of the first certificate in cert.pem (--tls-cert)\n",
    });
  });

  test("prints all problems of the files of TLS", async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, "ca.pem"), "junk");
    const flags = ["--tls-cert", "missing.pem", "--tls-key", "ca.pem", "--tls-client-ca", "ca.pem"];
    const { code, stderr } = await runHere(["config", "check", ...flags], { cwd });
    expect(code).toBe(2);
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^error: --tls-cert: missing\.pem cannot be read: ENOENT/),
      expect.stringMatching(/^error: --tls-key: ca\.pem does not contain a PEM private key/),
      "error: --tls-client-ca: ca.pem cannot be used: it does not contain a PEM certificate",
    ]);
  });

  test("prints all problems of all sources, not only the first", async () => {
    const file = await fileOf({ lisen: 1, quotas: ["x"], maxCalls: 0, fullDoors: true, tlsKey: "key.pem" });
    const { code, stdout, stderr } = await runHere(
      ["config", "check", "--config", file, "--registry-credentials", "/nowhere"],
      { env: { PLATFORM_LISTN: "x", PLATFORM_LOG_LEVEL: "loud" } },
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.trimEnd().split("\n")).toEqual([
      `warning: ${file}: fullDoors is deprecated: use --http2=node and --fast-path=off`,
      "error: unknown environment variable PLATFORM_LISTN is ignored; did you mean PLATFORM_LISTEN?",
      `error: ${file}: unknown key "lisen"; did you mean listen?`,
      `error: ${file}: "quotas" must be a string, number or boolean`,
      expect.stringContaining("error: --registry-credentials: ENOENT"),
      `error: ${file}: maxCalls: must be a number from 1 to 1000000`,
      "error: PLATFORM_LOG_LEVEL: must be debug, info, warn, error or silent",
      "error: --tls-cert and --tls-key must be set together",
      expect.stringContaining("error: --tls-key: key.pem cannot be read: ENOENT"),
    ]);
  });

  test("a file that is not JSON is refused without what it holds", async () => {
    const path = join(await temporaryFolder(), "platform.json");
    writeFileSync(path, '{"secretKey": sup5ecre7}');
    const { code, stderr } = await runHere(["config", "check", "--config", path]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: .*platform\.json: .*not valid JSON\n$/);
    expect(stderr).not.toMatch(/secretKey|up5ecre7/);
  });
});

describe("schema", () => {
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }).compile(configSchema());

  test("is printed", async () => {
    const { code, stdout } = await runHere(["config", "schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(configSchema());
  });

  test("has every setting with its description, and defaults that it accepts", () => {
    const { properties } = configSchema() as { properties: Record<string, { description: string; default?: unknown }> };
    for (const name of keys) expect(properties[name]?.description, name).toBe(settings[name].help);
    const defaults = Object.entries(properties).flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value]],
    );
    expect(validate(Object.fromEntries(defaults)), JSON.stringify(validate.errors)).toBe(true);
    expect(properties.fullDoors).toMatchObject({ type: "boolean", deprecated: true });
  });

  test.each<[object, boolean]>([
    [{}, true],
    [{ $schema: "./platform.schema.json", listen: "0.0.0.0:443", logLevel: "warn" }, true],
    [
      { listen: 9000, workers: "auto", databaseWait: 5, rateLimitRead: "10/20", quotas: "repos=5,tags=unlimited" },
      true,
    ],
    [{ openRootGroups: true, workers: 4, databaseWait: "5m", rateLimitRead: "off", auditRetentionDays: 30 }, true],
    [{ lisen: 9000 }, false],
    [{ listen: "localhost" }, false],
    [{ listen: 65_536 }, false],
    [{ openRootGroups: "yes" }, false],
    [{ workers: 0 }, false],
    [{ workers: "many" }, false],
    [{ databaseWait: "5d" }, false],
    [{ rateLimitRead: "10/" }, false],
    [{ quotas: "repo=5" }, false],
    [{ logLevel: "loud" }, false],
    [{ secretKey: "abc" }, false],
    [{ maxCalls: null }, false],
  ])("%j: %j, as the server", async (content, isValid) => {
    expect(validate(content), JSON.stringify(validate.errors)).toBe(isValid);
    const { problems } = readSettings({ flags: {}, env: {}, file: await fileOf(content), warn: expect.fail });
    expect(problems.length === 0).toBe(isValid);
  });
});
