/** The limits of connections, and the addresses of callers, of a running server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.ts";
import { cleanEnvironment } from "./platform-process.ts";
import { programEntry } from "./program.ts";

/** A server on SQLite in memory that may have so many open files. */
async function start(openFiles: number, ...more: string[]) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const settings = ["--database", "sqlite::memory:", "--listen", `${port}`, "--log-format", "json", ...more];
  const command = `ulimit -n ${openFiles} && exec "$0" "$@"`;
  const child = spawn("sh", ["-c", command, process.execPath, programEntry(), "serve", ...settings], {
    env: { ...cleanEnvironment(), PLATFORM_ADMIN_LISTEN: `127.0.0.1:${adminPort}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (piece) => {
    log += piece;
  });
  const admin = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  await expect.poll(() => admin("/readyz").catch(() => undefined)).toMatchObject({ status: 200 });
  return { port, admin, log: () => log };
}

/** Opens a connection from an address of this machine. */
async function dial(port: number, from: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from }).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

/** The status of a request; undefined if the connection is closed. */
async function ask(port: number, from: string, path: string, headers = ""): Promise<number | undefined> {
  const socket = await dial(port, from);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}connection: close\r\n\r\n`);
  const status = /^HTTP\/1\.1 (\d+)/.exec(await text(socket).catch(() => ""))?.[1];
  return status === undefined ? undefined : Number(status);
}

const metric = (shown: string, series: string) =>
  Number(
    shown
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

test("a server out of file descriptors refuses connections, and the admin listener answers", async () => {
  const { port, admin, log } = await start(200, "--max-connections-per-address", "1000");
  for (let i = 0; i < 300; i++) await dial(port, "127.0.0.1");
  await expect.poll(log).toContain('"limit":"file-descriptors","address":"127.0.0.1"');
  expect(log()).toMatch(/"openFiles":200,"connections":150,"setting":"--max-connections"/);
  for (const path of ["/livez", "/readyz"]) expect((await admin(path)).status).toBe(200);
  const { text: shown } = await admin("/metrics");
  expect(metric(shown, "process_unix_file_descriptor_limit")).toBe(200);
  expect(metric(shown, "process_unix_file_descriptor_count")).toBeLessThan(175);
  const refused = metric(shown, 'platform_connections_refused_total{limit="file-descriptors"}');
  expect(refused).toBeGreaterThan(150);
});

test("one address cannot keep others from the probes of the port", async () => {
  const { port, log } = await start(4096, "--max-connections", "40");
  for (let i = 0; i < 60; i++) await dial(port, "127.0.0.1");
  expect(await ask(port, "127.0.0.1", "/livez")).toBe(undefined);
  expect(await ask(port, "127.0.0.2", "/livez")).toBe(200);
  await expect.poll(log).toContain('"limit":"max-connections-per-address","address":"127.0.0.1"');
  expect(log().split("connections refused").length).toBe(2);
});

test("limits of addresses hold for the clients of a trusted proxy", async () => {
  const { port } = await start(4096, "--rate-limit-address", "1/20", "--trusted-proxies", "127.0.0.1");
  /** How many of so many requests, sent at once, are served. */
  const served = async (from: string, clients: readonly string[]) => {
    const socket = await dial(port, from);
    const requests = clients.map((client, i) => {
      const end = i === clients.length - 1 ? "connection: close\r\n" : "";
      return `GET /ping/v2/ping HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 198.51.100.1, ${client}\r\n${end}\r\n`;
    });
    socket.write(requests.join(""));
    const answers = await text(socket);
    expect(answers.split("HTTP/1.1 ").length - 1).toBe(clients.length);
    return answers.split("HTTP/1.1 200").length - 1;
  };
  const clients = (count: number, nameOf = (i: number) => `192.0.2.${i}`) =>
    Array.from({ length: count }, (_, i) => nameOf(i));
  expect(
    await served(
      "127.0.0.1",
      clients(60, () => "203.0.113.1"),
    ),
  ).toBeLessThan(60);
  expect(await served("127.0.0.1", clients(60))).toBe(60);
  expect(await served("127.0.0.2", clients(60))).toBeLessThan(60); // not a proxy, whoever it speaks of
});
