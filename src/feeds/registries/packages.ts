/**
 * Requests documents about packages from a package registry. Paths relative to the base URL given by the operator:
 *
 *     npm    NAME                                packument
 *     PyPI   NAME/json                           project, in the JSON API
 *     Maven  GROUP/ARTIFACT/maven-metadata.xml   versions; dots of the group are slashes
 *            GROUP/ARTIFACT/VERSION/ARTIFACT-VERSION.pom   description, of the newest release
 *
 * Rules for requests and redirects are in `oci/http.ts`.
 */

import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { maxDocumentBytes } from "../formats/artifact-document.ts";
import { checkName } from "../formats/artifact-record.ts";
import { readMavenDocument } from "../formats/maven.ts";
import type { FeedFile, FeedReport } from "../source/feed.ts";
import { FeedRefusal } from "../source/refusal.ts";
import { RegistryFailure, RegistryRefusal } from "./oci/errors.ts";
import { createRegistryHttp, type RegistryHttp } from "./oci/http.ts";

/** Options of {@link openPackages}. */
interface PackagesOptions {
  readonly ecosystem: Ecosystem;
  readonly report: FeedReport;
  /** Called for every package that the registry does not have. */
  missing(name: string): void;
  readonly signal?: AbortSignal;
  /** Replaces the wait between attempts. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Allows for a large packument over a slow network. */
const timeoutMs = 120_000;
/** Failures in a row after which no more packages are requested. */
const maxFailures = 3;

/**
 * Streams the documents of packages in the order of the names, each requested when it is read. Failures are reported,
 * those of the whole registry under its URL; nothing is thrown.
 */
export async function* openPackages(
  address: string,
  names: readonly string[],
  { ecosystem, report, missing, ...options }: PackagesOptions,
): AsyncGenerator<FeedFile> {
  const base = URL.parse(address);
  if (base === null || !/^https?:$/.test(base.protocol)) return report.refuse(address, "is not an http or https URL");
  if (base.username !== "" || base.password !== "")
    return report.refuse("the address", "contains credentials, which are not sent");
  const http = createRegistryHttp(base, { ...options, timeoutMs });
  let failures = 0;
  try {
    for (const [i, name] of names.entries()) {
      if (options.signal?.aborted) return;
      report.advance(i / names.length);
      try {
        let isFound = false;
        for await (const file of documentsOf(name, ecosystem, (path) => get(http, base, path))) {
          isFound = true;
          yield file;
        }
        if (!isFound) missing(name);
        failures = 0;
      } catch (error) {
        if (options.signal?.aborted) return;
        if (!(error instanceof FeedRefusal) && !(error instanceof RegistryFailure)) throw error;
        report.refuse(name, error.message);
        if (error instanceof RegistryFailure && ++failures === maxFailures)
          return report.refuse(address, `failed ${maxFailures} times in a row: the remaining packages are skipped`);
      }
    }
  } finally {
    await http.close();
  }
}

/** Requests a document by the segments of its path; undefined if there is none. */
type Get = (path: readonly string[]) => Promise<Uint8Array | undefined>;

async function* documentsOf(name: string, ecosystem: Ecosystem, get: Get): AsyncGenerator<FeedFile> {
  checkName(name);
  if (ecosystem === Ecosystem.JAVA) return yield* mavenDocumentsOf(name, get);
  const bytes = await get(ecosystem === Ecosystem.PYTHON ? [name, "json"] : [name]);
  if (bytes !== undefined) yield { name, format: "json", bytes };
}

async function* mavenDocumentsOf(name: string, get: Get): AsyncGenerator<FeedFile> {
  const [group = "", artifact = "", ...more] = name.split(":");
  if (group === "" || artifact === "" || more.length > 0)
    throw new FeedRefusal(`${JSON.stringify(name)} is not GROUP:ARTIFACT`);
  const folder = [...group.split("."), artifact];
  const metadata = await get([...folder, "maven-metadata.xml"]);
  if (metadata === undefined) return;
  yield { name, format: "xml", bytes: metadata };
  const release = await releaseIn(metadata);
  if (release === undefined) return;
  const pom = await get([...folder, release, `${artifact}-${release}.pom`]);
  if (pom !== undefined) yield { name: `${name}:${release}`, format: "xml", bytes: pom };
}

/** The newest release; undefined for invalid metadata, which is reported when it is imported. */
async function releaseIn(metadata: Uint8Array): Promise<string | undefined> {
  try {
    return (await readMavenDocument(metadata, () => {}))?.release;
  } catch (error) {
    if (error instanceof FeedRefusal) return undefined;
    throw error;
  }
}

async function get(http: RegistryHttp, base: URL, path: readonly string[]): Promise<Uint8Array | undefined> {
  const url = new URL(base);
  url.pathname = [base.pathname.replace(/\/+$/, ""), ...path.map(encodeSegment)].join("/");
  try {
    const { status, body } = await http.send({ url, method: "GET", headers: {}, maxBytes: maxDocumentBytes });
    if (status === 404 || status === 410) return undefined;
    if (status !== 200) throw new FeedRefusal(`the registry answers ${status}`);
    return body;
  } catch (error) {
    if (error instanceof RegistryRefusal) throw new FeedRefusal(error.message, { cause: error });
    throw error;
  }
}

/** Encodes a name as one path segment, including the slash after a scope. Errors: FeedRefusal for `.` and `..`. */
function encodeSegment(segment: string): string {
  if (/^\.*$/.test(segment)) throw new FeedRefusal(`${JSON.stringify(segment)} is not part of a name`);
  return encodeURIComponent(segment).replace(/^%40/, "@");
}
