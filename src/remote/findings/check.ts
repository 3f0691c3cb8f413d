/** `platform check`: what is known about packages that need not be in any image. */
import { readFileSync } from "node:fs";
import { create, type Message } from "@bufbuild/protobuf";
import { Command } from "commander";
import type { Finding, PackageResult } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { CommandFailure, ProgressLine } from "../../command/index.ts";
import { packageVersion, parsePackageUrl } from "../../package-url.ts";
import { counted } from "../../violations.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { levelCountsText } from "../print/levels.ts";
import { printLines, printMessages, requireNames, terminalStyle, withOutput, write } from "../print/print.ts";
import { Table } from "../print/table.ts";
import { callMethod } from "../session/call.ts";
import { foreignAnswer } from "../session/failure.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { type FailOn, failOn, failOnOption } from "./fail-on.ts";
import { sarif } from "./sarif.ts";

/** A package to ask for. */
export interface AskedPackage {
  /** The package URL; without a version where `version` has it. */
  readonly purl: string;
  readonly version?: string;
  /** The source package and its version; "" where it is unknown. */
  readonly origin?: string;
  readonly originVersion?: string;
}

/** The packages of a bill of materials. */
export interface SbomPackages {
  readonly packages: readonly AskedPackage[];
  /** Those that nothing can be known about, and why, in words. */
  readonly unmatched: readonly { readonly name: string; readonly version: string; readonly reason: string }[];
  /** What else was not read, in words. */
  readonly notes: readonly string[];
}

/** Reads a bill of materials. Errors: CommandFailure. @param name of the file, for errors. */
export type SbomReader = (bytes: Uint8Array, name: string) => Promise<SbomPackages>;

interface Options {
  readonly sbom?: string;
  readonly failOn?: FailOn;
  readonly output: string;
}

const formatOfSarif = "sarif";
type Fields = Record<string, unknown>;

/** Packages in one call. */
const batchSize = 1000;

/** @param readSbom for `--sbom`. */
export function makeCheckCommand(readSbom: SbomReader): Command {
  const command = withOutput(withSession(new Command("check")), "table", [formatOfSarif])
    .description("Print what is known about packages, by themselves or of a bill of materials. Nothing is stored.")
    .argument("[PURL...]", "package URLs with versions: pkg:npm/lodash@4.17.20")
    .option("--sbom <FILE>", "an SPDX or CycloneDX document in JSON; - is standard input")
    .addOption(failOnOption("a finding"));
  return command.action((purls: readonly string[]) =>
    inSession(command, async (session) => {
      const { sbom, failOn: level, output } = command.opts<Options>();
      const asked = purls.map(askedPackage);
      const listed = sbom === undefined ? undefined : await readSbom(bytesOf(sbom), nameOf(sbom));
      if (asked.length === 0 && listed === undefined) throw new CommandFailure("give package URLs, or --sbom FILE", 2);
      const { service, result } = contractParts();
      requireNames(command, result);
      const found = await queryAll(session, service.method.queryPackages!, [...asked, ...(listed?.packages ?? [])]);
      const results = [...found, ...(listed?.unmatched ?? []).map(unmatchedResult)];
      const findings = results.flatMap((each) => each.findings).sort(bySeverity);
      if (output === formatOfSarif) await write(sarif(findings, sbom === undefined || sbom === "-" ? undefined : sbom));
      else if (output === "table" || output === "wide") await printTable(results, findings, output === "wide");
      else await printMessages(command, result, results);
      for (const note of listed?.notes ?? []) console.error(`note: ${note}`);
      failOn(findings, level);
      requireMatched(found.slice(0, asked.length), purls);
    }),
  );
}

function contractParts() {
  const registry = contractRegistry();
  return {
    service: registry.getService("platform.findings.v1.FindingsService")!,
    result: registry.getMessage("platform.findings.v1.PackageResult")!,
    component: registry.getMessage("platform.findings.v1.Component")!,
    finding: registry.getMessage("platform.findings.v1.Finding")!,
  };
}

/** Errors: CommandFailure, since a check of what cannot be known must not pass. */
function askedPackage(purl: string): AskedPackage {
  const url = parsePackageUrl(purl);
  if (url === undefined) throw new CommandFailure(`${JSON.stringify(purl)} is not a package URL`, 2);
  if (packageVersion(url) === "") throw new CommandFailure(`${purl} has no version`, 2);
  return { purl };
}

/** Errors: CommandFailure, for packages that were named and cannot be known. */
function requireMatched(results: readonly PackageResult[], purls: readonly string[]): void {
  const lines = results.flatMap(({ unmatchedReason: reason }, i) => (reason === "" ? [] : [`${purls[i]} ${reason}`]));
  if (lines.length > 0) throw new CommandFailure(lines, 2);
}

function bytesOf(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? 0 : file);
  } catch (error) {
    throw new CommandFailure(`--sbom: cannot read ${file}: ${(error as Error).message}`, 2);
  }
}

function nameOf(file: string): string {
  return file === "-" ? "standard input" : file;
}

/** The results in the order of the packages. */
async function queryAll(
  session: Session,
  method: Parameters<typeof callMethod>[1],
  asked: readonly AskedPackage[],
): Promise<PackageResult[]> {
  const results: PackageResult[] = [];
  const line = new ProgressLine();
  try {
    for (let at = 0; at < asked.length; at += batchSize) {
      const queries = asked.slice(at, at + batchSize);
      const response = await callMethod(session, method, { queries });
      const { results: page } = response as Message & { readonly results: readonly PackageResult[] };
      if (page.length !== queries.length)
        throw foreignAnswer(session.server, `${queries.length} packages with ${page.length} results`);
      results.push(...page);
      line.show(() => `${results.length} of ${asked.length} packages`);
    }
  } finally {
    line.clear();
  }
  return results;
}

function unmatchedResult({ name, version, reason }: SbomPackages["unmatched"][number]): PackageResult {
  const { result, component } = contractParts();
  return create(result, {
    component: create(component, { name, version } as Fields),
    unmatchedReason: reason,
  } as Fields) as PackageResult;
}

function bySeverity(a: Finding, b: Finding): number {
  return (
    b.level - a.level ||
    (b.score ?? 0) - (a.score ?? 0) ||
    order(a.vulnerabilityId, b.vulnerabilityId) ||
    order(a.component?.purl ?? "", b.component?.purl ?? "")
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The findings, and on standard error how many there are. */
async function printTable(results: readonly PackageResult[], findings: readonly Finding[], wide: boolean) {
  const table = new Table(contractParts().finding, terminalStyle(wide));
  if (findings.length > 0) await printLines([table.begin(findings), ...findings.map((each) => table.line(each))]);
  const counts = [...Map.groupBy(findings, ({ level }) => level)].map(([level, { length }]) => ({
    level,
    count: length,
  }));
  const packages = counted(results.length, "package");
  console.error(`${packages}: ${counts.length === 0 ? "no findings" : levelCountsText(counts)}`);
  const unmatched = Map.groupBy(
    results.filter(({ unmatchedReason }) => unmatchedReason !== ""),
    ({ unmatchedReason }) => unmatchedReason,
  );
  for (const [reason, { length }] of unmatched)
    console.error(`note: ${counted(length, "package")} cannot be matched: ${reason}`);
}
