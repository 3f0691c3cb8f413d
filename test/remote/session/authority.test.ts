/** Certificates of servers: which are trusted, and what is said of those that are not. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../cli/platform-process.ts";
import { runHere } from "../../cli/run-here.ts";
import { type CertificateInit, certificateOf, type TestCertificate } from "../../http/self-signed.ts";

const authorities = getCACertificates("default");

afterEach(() => setDefaultCACertificates(authorities));

const hint = "hint: name the certificate of its authority by --ca FILE or PLATFORM_CA\n";

async function startTls(certificate: TestCertificate): Promise<string> {
  const server = createServer(certificate, (_, response) => {
    response.setHeader("content-type", "application/json").end('{"totalCount":"0"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fileOf(text: string): Promise<string> {
  const file = join(await temporaryFolder(), "ca.pem");
  await writeFile(file, text);
  return file;
}

function list(server: string, env: Record<string, string> = {}, ...args: string[]) {
  return runHere(["list", "repos", "--server", server, "-o", "name", ...args], {
    env: { PLATFORM_TOKEN: "x", XDG_CONFIG_HOME: "/nonexistent", ...env },
  });
}

test("an authority is trusted that --ca or PLATFORM_CA names", async () => {
  const authority = { name: "authority", certificate: certificateOf({ name: "authority", purpose: "authority" }) };
  const file = await fileOf(`# an authority\n${authority.certificate.cert}`);
  const server = await startTls(certificateOf({ by: authority, purpose: "server" }));
  const untrusted = `error: cannot reach ${server} (--server): its certificate is of an authority that is not trusted here\n`;
  expect(await list(server)).toMatchObject({ code: 6, stderr: untrusted + hint });
  expect(await list(server, {}, "--ca", file)).toMatchObject({ code: 0, stderr: "" });
  setDefaultCACertificates(authorities);
  expect(await list(server, { PLATFORM_CA: file })).toMatchObject({ code: 0, stderr: "" });
});

test.each<[string, CertificateInit, string]>([
  ["has expired", { notAfter: new Date("2021-01-01") }, "its certificate has expired"],
  ["is not valid yet", { notBefore: new Date("2048-01-01") }, "its certificate is not valid yet"],
  [
    "is for others",
    {
      altNames: [
        ["dns", "a.example.com"],
        ["ip", "\x0a\0\0\x01"],
      ],
    },
    "its certificate is for a.example.com, 10.0.0.1, not for 127.0.0.1",
  ],
])("a certificate that %s is told in words for people", async (_, init, reason) => {
  const certificate = certificateOf(init);
  const server = await startTls(certificate);
  expect(await list(server, {}, "--ca", await fileOf(certificate.cert))).toMatchObject({
    code: 6,
    stderr: `error: cannot reach ${server} (--server): ${reason}\n`,
  });
});

test.each<[string, string]>([
  ["no file", "cannot read"],
  ["a key", "has no certificate in PEM"],
  ["a broken certificate", "has no certificate in PEM, or one that cannot be read"],
])("%s instead of certificates is refused before any call", async (what, message) => {
  const broken = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n";
  const file =
    what === "no file" ? "/nonexistent/ca.pem" : await fileOf(what === "a key" ? certificateOf({}).key : broken);
  const { code, stderr } = await list("https://127.0.0.1:1", {}, "--ca", file);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
