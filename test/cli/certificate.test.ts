/** Certificates of a running server are replaced without a restart. */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { certificateOf, type TestCertificate } from "../http/self-signed.ts";
import { settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";

/** A connection to a server, whose certificate is not verified. */
async function dial(baseUrl: string): Promise<TLSSocket> {
  const { hostname: host, port } = new URL(baseUrl);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  return socket;
}

async function servedName(baseUrl: string): Promise<unknown> {
  const socket = await dial(baseUrl);
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return CN;
}

/** Asks for liveness on an open connection. */
function ask(socket: TLSSocket): Promise<string> {
  socket.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
  return new Promise((resolve, reject) =>
    socket.once("data", (chunk) => resolve(String(chunk).slice(0, 15))).once("error", reject),
  );
}

test("a mounted secret that changes is used by new connections; others go on; SIGHUP takes other paths", async () => {
  const cwd = await temporaryFolder();
  const version = (name: string, { cert, key }: TestCertificate) => {
    mkdirSync(join(cwd, name));
    writeFileSync(join(cwd, name, "tls.crt"), cert);
    writeFileSync(join(cwd, name, "tls.key"), key);
  };
  /** As Kubernetes does: the files are links into `..data`, which is a link that is replaced at once. */
  const mount = (name: string) => {
    symlinkSync(name, join(cwd, "..new"));
    renameSync(join(cwd, "..new"), join(cwd, "..data"));
  };
  version("first", certificateOf({ name: "first" }));
  mount("first");
  for (const name of ["tls.crt", "tls.key"]) symlinkSync(`..data/${name}`, join(cwd, name));
  const file = join(cwd, "platform.json");
  writeFileSync(file, JSON.stringify({ tlsCert: "tls.crt", tlsKey: "tls.key" }));
  const server = await startPlatformForTest([...settingsIn(cwd).serve, "--config", file], { cwd });
  expect(await servedName(server.baseUrl)).toBe("first");
  const open = await dial(server.baseUrl);
  expect(await ask(open)).toBe("HTTP/1.1 200 OK");

  version("second", certificateOf({ name: "second" }));
  mount("second");
  await expect.poll(() => servedName(server.baseUrl)).toBe("second");
  expect(await ask(open)).toBe("HTTP/1.1 200 OK");

  version("third", { ...certificateOf({ name: "third" }), key: certificateOf({}).key });
  mount("third");
  await expect.poll(server.stderr).toContain("certificates not reloaded: those in use are kept");
  expect(await servedName(server.baseUrl)).toBe("second");

  version("fourth", certificateOf({ name: "fourth" }));
  writeFileSync(file, JSON.stringify({ tlsCert: "fourth/tls.crt", tlsKey: "fourth/tls.key" }));
  server.signal("SIGHUP");
  await expect.poll(() => servedName(server.baseUrl)).toBe("fourth");

  writeFileSync(file, "{}");
  server.signal("SIGHUP");
  await expect.poll(server.stderr).toMatch(/"settings":\["tlsCert","tlsKey"\]/);
  expect(await servedName(server.baseUrl)).toBe("fourth");
});
