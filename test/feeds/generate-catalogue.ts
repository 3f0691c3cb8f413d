/**
 * Generates a reproducible catalogue of advisory documents. Members, nesting, frequencies and maximum lengths are those
 * of a public catalogue of 1,616 documents with 30,030 advisories. `node test/feeds/generate-catalogue.ts DIRECTORY
 * [DOCUMENTS] [ADVISORIES]` writes one.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { dump } from "js-yaml";
import { type Random, randomNumbers } from "./random-numbers.ts";

/** A file of a catalogue. */
export interface CatalogueFile {
  /** Path in the catalogue. */
  readonly name: string;
  readonly content: string;
}

/** Size of a catalogue. */
export interface CatalogueSize {
  readonly documents: number;
  /** Average for one document. */
  readonly advisories: number;
}

/** Frequencies of events, among 50,996. */
const shares = {
  scan: 22_508,
  nvdapi: 38,
  manual: 55,
  fixed: 22_343,
  "false-positive-determination": 2_850,
  "true-positive-determination": 690,
  "pending-upstream-fix": 1_549,
  "fix-not-planned": 963,
} as const;

type Kind = keyof typeof shares;

const longest = {
  package: 43,
  componentID: 16,
  componentName: 92,
  componentVersion: 57,
  componentType: 14,
  componentLocation: 17_513,
  cpeSearched: 40,
  cpeFound: 55,
  "fixed-version": 21,
  "false-positive-determination": 1_214,
  "true-positive-determination": 1_632,
  "pending-upstream-fix": 1_274,
  "fix-not-planned": 743,
} as const;

const reasons = [
  "component-vulnerability-mismatch",
  "inline-mitigations-exist",
  "vulnerability-record-analysis-contested",
  "vulnerable-code-version-not-used",
  "vulnerable-code-not-included-in-package",
  "vulnerable-code-not-in-execution-path",
  "vulnerable-code-cannot-be-controlled-by-adversary",
];
const componentTypes = [
  "go-module",
  "apk",
  "java-archive",
  "npm",
  "python",
  "gem",
  "rust-crate",
  "binary",
  "dotnet",
  "deb",
];
const schemaVersions = ["2", "2.0.1", "2.0.2"];
const alphabet = "23456789cfghjmpqrvwx";
/** Some words need quoting, folding or escaping in YAML. */
const words =
  "the affected: code # is not in 'this' package, \"see\" https://example.com/é?a=b&c {upstream} - [fix] no 1.10 ~ | >\n\n* %\tnull".split(
    " ",
  );

/** The files of a catalogue: documents, and the other files of a checkout. */
export function* catalogue({ documents, advisories }: CatalogueSize): Generator<CatalogueFile> {
  const random = randomNumbers(20);
  yield { name: ".github/workflows/test.yaml", content: "on: push\njobs: {}\n" };
  yield { name: ".id-allocator", content: "30030\n" };
  yield { name: ".yam.yaml", content: "gap: true\n" };
  yield { name: "README.md", content: "# Advisories\n" };
  let next = 0;
  for (let n = 0; n < documents; n++) {
    const name = `package-${n}`.padEnd(n === 7 ? longest.package : 1, "-long");
    const count = n === 0 ? 0 : random.below(2 * advisories + 1);
    const body = {
      package: { name },
      advisories: Array.from({ length: count }, () => advisory(next++, random)),
    };
    // Publishers write the version as a plain scalar.
    const content = `schema-version: ${schemaVersions[n % 3]}\n${dump(body)}`;
    yield { name: `${name}.advisories.yaml`, content };
  }
}

function advisory(n: number, random: Random): object {
  const day = 86_400_000;
  let time = Date.UTC(2023, 0, 1) + random.below(1000) * day;
  const events = Array.from({ length: 1 + random.below(3) }, () => {
    time += random.below(3) * 3_600_000; // two may have the same time
    return event(kindOf(random), new Date(time), n, random);
  });
  const aliases = [`CVE-2026-${10_000 + n}`, `GHSA-${id(n * 7 + 3)}`, `GO-2026-${n}`].slice(0, 1 + random.below(3));
  return { id: `CGA-${id(n)}`, aliases, events };
}

function event(kind: Kind, timestamp: Date, n: number, random: Random): object {
  /** A text, usually short, sometimes of maximum length. */
  const text = (limit: number) =>
    proseOf(random.below(40) === 0 ? limit : 1 + random.below(Math.min(limit, 80)), random);
  switch (kind) {
    case "scan":
      return { timestamp, type: "detection", data: { type: "scan/v1", data: scan(n, random) } };
    case "nvdapi": {
      const data = { cpeSearched: cpe(longest.cpeSearched, random), cpeFound: cpe(longest.cpeFound, random) };
      return { timestamp, type: "detection", data: { type: kind, data } };
    }
    case "manual":
      return { timestamp, type: "detection", data: { type: kind } };
    case "fixed": {
      const version = `${random.below(30)}.${random.below(30)}.${random.below(30)}-r${random.below(30)}`;
      return { timestamp, type: kind, data: { "fixed-version": version.padStart(random.below(50) ? 0 : 21, "1") } };
    }
    case "false-positive-determination": {
      const type = reasons[random.below(reasons.length)]!;
      const isNoted = random.below(2850) < 2684;
      return { timestamp, type: kind, data: { type, ...(isNoted && { note: text(longest[kind]) }) } };
    }
    case "true-positive-determination":
      return random.below(690) < 4
        ? { timestamp, type: kind }
        : { timestamp, type: kind, data: { note: text(longest[kind]) } };
    default:
      return { timestamp, type: kind, data: { note: text(longest[kind]) } };
  }
}

function scan(n: number, random: Random): object {
  const isLong = random.below(100) === 0;
  const componentName = `example.com/component-${n % 997}`.padEnd(isLong ? longest.componentName : 0, "/v2");
  const place = `/usr/bin/example-${n % 50}`;
  const componentLocation = isLong ? Array(900).fill(place).join(", ").slice(0, longest.componentLocation) : place;
  return {
    subpackageName: `package-${n % 50}-libs`,
    componentID: n.toString(16).padStart(longest.componentID, "0"),
    componentName,
    componentVersion: `1.${random.below(50)}`.padEnd(isLong ? longest.componentVersion : 0, "0"),
    componentType: componentTypes[random.below(componentTypes.length)],
    componentLocation: isLong ? componentLocation.padEnd(longest.componentLocation, "x") : componentLocation,
    scanner: "grype",
  };
}

function proseOf(length: number, random: Random): string {
  let text = words[random.below(words.length)]!;
  while (text.length < length) text += ` ${words[random.below(words.length)]}`;
  return text.slice(0, length).trim() || "x";
}

function cpe(length: number, random: Random): string {
  return `cpe:2.3:a:vendor${random.below(1000)}:product`.padEnd(length, ":*").slice(0, length);
}

function kindOf(random: Random): Kind {
  const kinds = Object.entries(shares) as [Kind, number][];
  let left = random.below(kinds.reduce((sum, [, share]) => sum + share, 0));
  const found = kinds.find(([, share]) => {
    left -= share;
    return left < 0;
  });
  return found![0];
}

/** Three groups of four characters, unique for each number. */
function id(n: number): string {
  const digits = Array.from({ length: 12 }, (_, i) => alphabet[Math.floor(n / alphabet.length ** i) % alphabet.length]);
  return digits.join("").replace(/(.{4})(?=.)/g, "$1-");
}

/** Writes a catalogue into a directory. */
export async function writeCatalogue(directory: string, size: CatalogueSize): Promise<void> {
  for (const { name, content } of catalogue(size)) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [directory = ".", documents = "1616", advisories = "18.6"] = process.argv.slice(2);
  await writeCatalogue(directory, { documents: Number(documents), advisories: Number(advisories) });
}
