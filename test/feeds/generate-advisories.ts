/**
 * Generates a reproducible feed of any number of advisories: `node test/feeds/generate-advisories.ts 340000 >
 * feed.jsonl`. With `yaml` as second argument, it is a stream of YAML documents.
 */
import { once } from "node:events";
import { pathToFileURL } from "node:url";

/** An advisory document of schema 2.x with ten advisories. */
export interface AdvisoryDocument {
  readonly "schema-version": string;
  readonly package: { readonly name: string };
  readonly advisories: readonly object[];
}

const perDocument = 10;
const firstMs = Date.UTC(2024, 0, 1);
const hourMs = 3_600_000;

/** Documents with `count` advisories in total, ten each. */
export function* advisoryDocuments(count: number): Generator<AdvisoryDocument> {
  for (let first = 0; first < count; first += perDocument) {
    const length = Math.min(perDocument, count - first);
    yield {
      "schema-version": "2.0.2",
      package: { name: `package-${first / perDocument}` },
      advisories: Array.from({ length }, (_, i) => advisory(first + i)),
    };
  }
}

/** One in three is fixed, one in seven is a false positive, the others are only detected. */
function advisory(n: number): object {
  const at = (hours: number) => new Date(firstMs + (n % 15_000) * hourMs + hours * hourMs).toISOString();
  const componentName = `component-${n % 997}`;
  const events: object[] = [
    {
      timestamp: at(0),
      type: "detection",
      data: {
        type: "scan/v1",
        data: {
          subpackageName: `package-${Math.floor(n / perDocument)}-libs`,
          componentID: n.toString(16).padStart(16, "0"),
          componentName,
          componentVersion: `1.${n % 50}.0`,
          componentType: "go-module",
          componentLocation: `/usr/bin/${componentName}`,
          scanner: "grype",
        },
      },
    },
  ];
  if (n % 3 === 0) events.push({ timestamp: at(1), type: "fixed", data: { "fixed-version": `2.${n % 40}.1-r0` } });
  else if (n % 7 === 0) {
    const data = { type: "vulnerable-code-not-in-execution-path", note: "Only its command line tool is affected." };
    events.push({ timestamp: at(1), type: "false-positive-determination", data });
  }
  return { id: `CGA-${idOf(n)}`, aliases: [`CVE-2026-${100_000 + n}`, `GHSA-${idOf(n * 7 + 3)}`], events };
}

const alphabet = "23456789cfghjmpqrvwx";

/** Three groups of four characters, unique for each number. */
function idOf(n: number): string {
  let rest = n;
  const digits = Array.from({ length: 12 }, () => {
    const digit = alphabet[rest % alphabet.length]!;
    rest = Math.floor(rest / alphabet.length);
    return digit;
  }).join("");
  return digits.replace(/(.{4})(?=.)/g, "$1-");
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [count = "1000", format = "json"] = process.argv.slice(2);
  const { dump } = await import("js-yaml");
  for (const document of advisoryDocuments(Number(count))) {
    const text = format === "yaml" ? `---\n${dump(document)}` : `${JSON.stringify(document)}\n`;
    if (!process.stdout.write(text)) await once(process.stdout, "drain");
  }
}
