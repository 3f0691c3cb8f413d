/** The certificate of a running server: what is logged before it expires, and which files are taken. */
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DestinationStream, pino } from "pino";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { LiveSettings } from "../../../src/app/settings/live-settings.ts";
import { watchCertificate } from "../../../src/app/tls/certificate.ts";
import { readConfig } from "../../../src/config/index.ts";
import type { TlsFiles } from "../../../src/http/index.ts";
import { certificateOf, type TestCertificate } from "../../http/self-signed.ts";

const dayMs = 86_400_000;
const startMs = Date.parse("2030-01-01");
const at = (days: number) => new Date(startMs + days * dayMs);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"], now: startMs });
});
afterEach(() => {
  vi.useRealTimers();
});

function watched({ cert, key }: TestCertificate) {
  const folder = mkdtempSync(join(tmpdir(), "platform-certificate-"));
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  write("cert.pem", cert);
  write("key.pem", key);
  const flags = { tlsCert: join(folder, "cert.pem"), tlsKey: join(folder, "key.pem") };
  const lines: { level: string; msg: string; [field: string]: unknown }[] = [];
  const stream: DestinationStream = { write: (line) => void lines.push(JSON.parse(line)) };
  const log = pino({ formatters: { level: (level) => ({ level }) } }, stream);
  const used: TlsFiles[] = [];
  const certificate = watchCertificate({
    live: new LiveSettings(readConfig({ flags, env: {}, warn: expect.fail })),
    log,
    now: Date.now,
    files: { cert, key },
    use: (files) => void used.push(files),
  });
  onTestFinished(() => {
    certificate.close();
    rmSync(folder, { recursive: true });
  });
  return { certificate, lines, used, write };
}

test("it is warned of daily from 14 days before its end, and an expired one is an error", () => {
  const { lines, certificate } = watched(certificateOf({ notBefore: at(-300), notAfter: at(20) }));
  expect(certificate.notAfterMs).toBe(at(20).getTime());
  vi.advanceTimersByTime(5.9 * dayMs);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(14 * dayMs);
  expect(new Set(lines.map(({ level, msg }) => `${level} ${msg}`))).toEqual(new Set(["warn certificate expires soon"]));
  expect(lines.map(({ daysLeft }) => daysLeft)).toEqual([14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(lines[0]).toMatchObject({ subject: "DNS:localhost, IP Address:127.0.0.1", expireTime: at(20).toISOString() });
  lines.length = 0;
  vi.advanceTimersByTime(2 * dayMs);
  expect(lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
    "error certificate has expired",
    "error certificate has expired",
  ]);
});

test("one that is valid for a few days only is warned of in the last third of its life", () => {
  const { lines } = watched(certificateOf({ notBefore: at(0), notAfter: at(6) }));
  vi.advanceTimersByTime(3.9 * dayMs);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(0.2 * dayMs);
  expect(lines).toMatchObject([{ level: "warn", daysLeft: 2 }]);
});

test("one that has expired already is an error at the start", () => {
  const { lines } = watched(certificateOf({ notBefore: at(-10), notAfter: at(-1) }));
  expect(lines).toMatchObject([{ level: "error", msg: "certificate has expired", daysLeft: -1 }]);
});

test("files are taken once they fit together; until then there is one warning for each content", async () => {
  const { lines, used, write, certificate } = watched(certificateOf({ notAfter: at(400) }));
  const poll = async (done: () => boolean) => {
    await vi.advanceTimersByTimeAsync(10_000);
    await vi.waitUntil(async () => {
      await vi.advanceTimersByTimeAsync(1);
      return done();
    });
  };
  const next = certificateOf({ notAfter: at(500) });
  write("cert.pem", next.cert);
  await poll(() => lines.length === 1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toMatchObject([
    {
      level: "warn",
      msg: "certificates not reloaded: those in use are kept",
      reason: expect.stringMatching(/^--tls-key: \S+ is not the key of the first certificate in \S+ \(--tls-cert\)$/),
    },
  ]);
  expect(certificate.notAfterMs).toBe(at(400).getTime());
  write("key.pem", next.key);
  await poll(() => used.length === 1);
  expect(String(used[0]!.cert)).toBe(next.cert);
  expect(certificate.notAfterMs).toBe(at(500).getTime());
  const { serialNumber } = new X509Certificate(next.cert);
  expect(lines.at(-1)).toMatchObject({ level: "info", msg: "certificates reloaded", serialNumber });
  write("key.pem", "");
  await poll(() => lines.length === 3);
  expect(lines.at(-1)!.level).toBe("warn");
  expect(used).toHaveLength(1);
});
