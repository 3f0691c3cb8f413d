/**
 * The data of the benchmark of findings: images that share most of their packages, and advisories about some of them.
 * All is written by the functions that importers use, so that filling measures them, too.
 */
import { createHash } from "node:crypto";
import type { VulnerabilityFacts } from "../src/matching/index.ts";
import { FactWriter, type ImagePackage, saveImage, saveImagePackages } from "../src/services/index.ts";
import { openDatabase, type WriteSession } from "../src/store/index.ts";

/** How much there is. */
export interface FindingsSize {
  readonly images: number;
  readonly packagesOfImage: number;
  readonly advisories: number;
}

/** Names of packages, and the versions of each. An image has one version of each of its packages. */
const packages = 10_000;
const versions = 10;
/** Every image has packages from the start of the list, as base images have, and some of its own. */
const sharedPackages = 200;
const imagesPerRepo = 20;
const advisoriesPerTransaction = 200;

/**
 * The packages of an image. The images of a repo are builds of one program: each has a tenth of its packages, and of
 * their versions, for itself.
 */
export function packagesOf(image: number, count: number): ImagePackage[] {
  const repo = Math.floor(image / imagesPerRepo);
  const own = (of: number, kind: number) => (hash(repo, of, kind) % 10 === 0 ? image + 1 : -repo);
  const chosen = new Set<number>();
  for (let i = 0; i < sharedPackages && chosen.size < count; i++) chosen.add(i);
  for (let i = 0; chosen.size < count; i++)
    chosen.add(sharedPackages + (hash(own(i, 1), i) % (packages - sharedPackages)));
  return [...chosen].map((number) => ({
    name: packageName(number),
    version: `${1 + (hash(own(number, 2) % 50, number) % versions)}.0.0`,
    type: "npm",
    architecture: "",
    origin: "",
    originVersion: "",
  }));
}

/** The name of a package. */
export function packageName(number: number): string {
  return `package-${number}`;
}

/** The digest of an image. */
export function digestOf(image: number | string): string {
  return `sha256:${createHash("sha256").update(String(image)).digest("hex")}`;
}

/** An advisory about the versions of a package below a fix. @param revision changes the fix. */
export function advisoryOf(number: number, revision = 0): VulnerabilityFacts {
  const id = `GHSA-${String(number).padStart(6, "0")}`;
  const fixed = `${1 + ((hash(number, 1) + revision) % versions)}.0.0`;
  // The packages at the start of the list, which all images have, are as rarely affected as others.
  const key = `pkg:npm/${packageName(hash(number, 2) % packages)}`;
  return {
    id,
    aliases: [`CVE-2026-${number}`],
    upstream: [],
    related: [],
    summary: `Something is wrong in ${key}`,
    weaknesses: [],
    ratings: [{ source: "ghsa", vector: vectors[hash(number, 3) % vectors.length]! }],
    publishMs: 1_700_000_000_000 + number * 1000,
    modifyMs: 1_700_000_000_000 + number * 1000 + revision,
    packages: [{ key, kind: "ecosystem", facts: [{ key, distro: "", ranges: [range(fixed)], versions: [] }] }],
  } as unknown as VulnerabilityFacts;
}

function range(fixed: string) {
  return { kind: "SEMVER" as const, events: [{ introduced: "0" }, { fixed }] };
}

const vectors = [
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N",
  "CVSS:3.1/AV:N/AC:H/PR:L/UI:N/S:U/C:L/I:L/A:N",
  "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N",
];

/** Fills a database with images. */
export async function fillImages(
  url: string,
  repos: readonly string[],
  { images, packagesOfImage }: FindingsSize,
): Promise<void> {
  const database = await openDatabase(url);
  const nowMs = Date.now();
  for (let i = 0; i < images; ) {
    await database.transact(async (session) => {
      for (const end = Math.min(images, i + imagesPerRepo); i < end; i++)
        await addImage(
          session,
          repos[Math.floor(i / imagesPerRepo) % repos.length]!,
          digestOf(i),
          packagesOf(i, packagesOfImage),
          nowMs,
        );
    });
  }
  await database.close();
}

/** Fills a database with advisories. */
export async function fillAdvisories(url: string, { advisories }: FindingsSize): Promise<void> {
  const database = await openDatabase(url);
  const nowMs = Date.now();
  for (let i = 0; i < advisories; )
    await database.transact(async (session) => {
      const writer = new FactWriter(session, nowMs);
      for (const end = Math.min(advisories, i + advisoriesPerTransaction); i < end; i++)
        await writer.saveAlone("osv", advisoryOf(i));
      await writer.settle();
    });
  await database.close();
}

async function addImage(
  session: WriteSession,
  repo: string,
  digest: string,
  packages: readonly ImagePackage[],
  nowMs: number,
): Promise<void> {
  const platform = { architecture: "amd64", variant: "", os: "linux", digest, size: 1 };
  await saveImage(
    session,
    repo,
    { digest, mediaType: "application/vnd.oci.image.manifest.v1+json", platforms: [platform] },
    nowMs,
  );
  await saveImagePackages(session, repo, digest, { packages }, nowMs);
}

/** A number that depends on the others only. */
function hash(...numbers: readonly number[]): number {
  let value = 0x811c9dc5;
  for (const number of numbers) {
    value = Math.imul(value ^ (number & 0xffff), 0x01000193);
    value = Math.imul(value ^ (number >>> 16), 0x01000193);
  }
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}
