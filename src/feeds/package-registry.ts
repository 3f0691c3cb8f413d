/**
 * The documents that a package registry has of named packages. Below the address that the operator gives are
 *
 *     npm    NAME                       the packument
 *     PyPI   NAME/json                  the project, in the JSON API
 *     Maven  GROUP/ARTIFACT/maven-metadata.xml, the group's dots as slashes; the POM of the newest release beside it has the description
 *
 * How requests are made, and to whom answers may lead, is `registry/http.ts`.
 */
import { Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { maxDocumentBytes } from "./artifact-document.ts";
import { checkName } from "./artifact-record.ts";
import type { FeedFile, FeedReport } from "./feed.ts";
import { FeedRefusal } from "./fields.ts";
import { readMavenDocument } from "./formats/maven.ts";
import { RegistryFailure, RegistryRefusal } from "./registry/errors.ts";
import { createRegistryHttp, type RegistryHttp } from "./registry/http.ts";

/** How to ask. */
export interface PackagesOptions {
  readonly ecosystem: Ecosystem;
  readonly report: FeedReport;
  /** Told of every package that the registry does not have. */
  missing(name: string): void;
  readonly signal?: AbortSignal;
  /** Waits between two attempts; the system's clock by default. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** A large packument over a slow line. */
const timeoutMs = 120_000;
/** Packages in a row that the registry may fail to answer about, before it is asked no more. */
const maxFailures = 3;

/**
 * The documents of packages, in the order of the names, each asked for when it is wanted. What cannot be had is told to the report, the whole
 * registry by its address; nothing is thrown.
 */
export async function* openPackages(
  address: string,
  names: readonly string[],
  { ecosystem, report, missing, ...options }: PackagesOptions,
): AsyncGenerator<FeedFile> {
  const base = URL.parse(address);
  if (base === null || !/^https?:$/.test(base.protocol))
    return report.refuse(address, "is not an http or https address");
  if (base.username !== "" || base.password !== "")
    return report.refuse("the address", "carries credentials, which are not sent");
  const http = createRegistryHttp(base, { ...options, timeoutMs });
  let failures = 0;
  try {
    for (const [i, name] of names.entries()) {
      if (options.signal?.aborted) return;
      report.advance(i / names.length);
      try {
        let isThere = false;
        for await (const file of documentsOf(name, ecosystem, (path) => get(http, base, path))) {
          isThere = true;
          yield file;
        }
        if (!isThere) missing(name);
        failures = 0;
      } catch (error) {
        if (options.signal?.aborted) return;
        if (!(error instanceof FeedRefusal) && !(error instanceof RegistryFailure)) throw error;
        report.refuse(name, error.message);
        if (error instanceof RegistryFailure && ++failures === maxFailures)
          return report.refuse(address, "fails again and again: it is not asked any more");
      }
    }
  } finally {
    await http.close();
  }
}

/** A document at the segments of a path; undefined where there is none. */
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

/** The newest release; whoever reads metadata that are none tells so. */
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

/** A name is one segment of a path, the slash of a scope included. Errors: FeedRefusal for what would be another path. */
function encodeSegment(segment: string): string {
  if (/^\.*$/.test(segment)) throw new FeedRefusal(`${JSON.stringify(segment)} is not part of a name`);
  return encodeURIComponent(segment).replace(/^%40/, "@");
}
