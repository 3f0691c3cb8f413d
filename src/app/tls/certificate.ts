/**
 * The certificate of a running server, and the authorities of its clients' certificates. Their files are read again
 * when they change, every 10 s, and at SIGHUP. Files that do not fit together are kept back until they do. The folders
 * are watched too, because a mounted secret changes by a link beside the files, and because time-outs of a poll are
 * long for somebody who waits.
 */
import { X509Certificate } from "node:crypto";
import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { TlsFiles } from "../../http/index.ts";
import type { Logger } from "../../log.ts";
import { StartFailure } from "../failure.ts";
import type { LiveSettings } from "../settings/live-settings.ts";
import { readTlsFiles, type TlsPaths } from "./files.ts";

const pollMs = 10_000;
/** Files that are replaced one after the other are read once. */
const settleMs = 500;
const dayMs = 86_400_000;
/** How long before its end a certificate is warned of, unless a third of its life is shorter. */
const warningMs = 14 * dayMs;
const expiryCheckMs = 60_000;

/** What {@link watchCertificate} needs. */
export interface CertificateOptions {
  readonly live: LiveSettings;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The files in use. */
  readonly files: TlsFiles;
  /** Uses other files from now on. */
  use(files: TlsFiles): void;
}

/** The certificate of a server. */
export interface CertificateWatch {
  /** When the certificate in use expires, in milliseconds since 1970. */
  readonly notAfterMs: number;
  close(): void;
}

/** Watches the certificate, and logs before it expires. */
export function watchCertificate({ live, log, now, files, use }: CertificateOptions): CertificateWatch {
  let certificate = new X509Certificate(files.cert);
  let used: TlsFiles = files;
  /** The content that was read last, whether it could be used or not. */
  let seen: unknown;
  let reading: Promise<void> = Promise.resolve();
  let isClosed = false;
  let warnedMs = Number.NEGATIVE_INFINITY;

  const read = async () => {
    const paths = pathsOf(live.current);
    const contents = new Map(
      await Promise.all(
        paths.map(async (path) => [path, await readFile(path).catch((error: Error) => error)] as const),
      ),
    );
    if (isClosed || isDeepStrictEqual(contents, seen)) return;
    seen = contents;
    try {
      const next = readTlsFiles(live.current, (path) => {
        const content = contents.get(path)!;
        if (content instanceof Error) throw content;
        return content;
      });
      if (next === undefined || isDeepStrictEqual(next, used)) return;
      use(next);
      used = next;
      certificate = new X509Certificate(next.cert);
      warnedMs = Number.NEGATIVE_INFINITY;
      log.info(factsOf(certificate), "certificates reloaded");
      checkExpiry();
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      log.warn({ reason: error.message }, "certificates not reloaded: those in use are kept");
    }
  };
  /** Whether a reading waits for the one before it, and so will see what is there now. */
  let isQueued = false;
  const reload = () => {
    if (isQueued) return;
    isQueued = true;
    reading = reading
      .then(() => {
        isQueued = false;
        return read();
      })
      .catch((error: unknown) => log.error({ err: error }, "certificates not reloaded"));
  };

  function checkExpiry(): void {
    const { notAfterMs, lifeMs } = timesOf(certificate);
    const leftMs = notAfterMs - now();
    const isExpired = leftMs <= 0;
    const hasExpiredSince = isExpired && warnedMs < notAfterMs;
    if (leftMs > Math.min(warningMs, lifeMs / 3) || (now() - warnedMs < dayMs && !hasExpiredSince)) return;
    warnedMs = now();
    const facts = { ...factsOf(certificate), daysLeft: Math.floor(leftMs / dayMs) };
    if (isExpired) log.error(facts, "certificate has expired");
    else log.warn(facts, "certificate expires soon");
  }

  const watched = new Map<string, () => void>();
  let settling: NodeJS.Timeout | undefined;
  const onChange = () => {
    clearTimeout(settling);
    settling = setTimeout(reload, settleMs).unref();
  };
  live.follow((config) => {
    for (const folder of pathsOf(config).map(dirname))
      if (!watched.has(folder)) watched.set(folder, watchFolder(folder, onChange));
    reload();
  });
  const polling = setInterval(reload, pollMs).unref();
  const expiring = setInterval(checkExpiry, expiryCheckMs).unref();
  checkExpiry();
  return {
    get notAfterMs() {
      return timesOf(certificate).notAfterMs;
    },
    close() {
      isClosed = true;
      clearTimeout(settling);
      clearInterval(polling);
      clearInterval(expiring);
      for (const stop of watched.values()) stop();
    },
  };
}

function pathsOf({ tlsCert, tlsKey, tlsClientCa }: TlsPaths): string[] {
  return [tlsCert, tlsKey, tlsClientCa].filter((path) => path !== undefined);
}

/** Watches a folder, if the system can. Returns what stops that. */
function watchFolder(folder: string, onChange: () => void): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, onChange);
    watcher.on("error", () => watcher.close()); // polling goes on
    return () => watcher.close();
  } catch {
    return () => {}; // polling is enough
  }
}

function timesOf({ validFrom, validTo }: X509Certificate): { readonly notAfterMs: number; readonly lifeMs: number } {
  const notAfterMs = Date.parse(validTo);
  return { notAfterMs, lifeMs: notAfterMs - Date.parse(validFrom) };
}

/** What a log line says about a certificate. */
function factsOf(certificate: X509Certificate) {
  const { subject, subjectAltName, serialNumber } = certificate;
  return {
    subject: subjectAltName ?? subject,
    serialNumber,
    expireTime: new Date(timesOf(certificate).notAfterMs).toISOString(),
  };
}
