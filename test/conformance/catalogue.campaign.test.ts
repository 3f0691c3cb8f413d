/**
 * A catalogue of advisory documents of the published schema, imported beside the server and compared through the API,
 * field by field, with what js-yaml reads from the same files.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load, YAML11_SCHEMA } from "js-yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import { campaign } from "../campaign.ts";
import { runPlatform } from "../cli/platform-process.ts";
import { writeCatalogue } from "../feeds/generate-catalogue.ts";
import type { Json } from "./contract.ts";
import { makeGroup } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const suffix = ".advisories.yaml";
const advisoriesOfDocument = 3;
/** Fewer on PostgreSQL, where an import of as many takes minutes. */
const documentsOn = campaign({ short: { sqlite: 160, postgresql: 80 }, full: { sqlite: 320, postgresql: 120 } });
/** Starting the program and importing, on a machine that does other things. */
const timeout = 300_000;

onEveryServer("a published catalogue", (platform) => {
  let folder: string;
  let group: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "platform-catalogue-"));
    group = (await makeGroup(platform())).uid;
    await writeCatalogue(folder, { documents: documentsOn[platform().database], advisories: advisoriesOfDocument });
  }, timeout);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const importAll = async (...more: string[]) => {
    const args = ["import", "advisories", folder, "--group", group, "--database", platform().databaseUrl, "--json"];
    const { code, stdout, stderr } = await runPlatform([...args, ...more]);
    // Progress, on a slow machine; and that packages without a distribution are matched with nothing.
    const said = stderr.replace(/^(?:\d+ read, 0 refused, \d+\/s|unmatched: names no distribution: .*)\n/gm, "");
    const { unmatched: _, ...summary } = JSON.parse(stdout) as Json;
    return { code, said, summary };
  };
  const all = async (method: string, member: string, request: Json = {}) => {
    const found: Json[] = [];
    let pageToken: string | undefined;
    do {
      const page = await platform().ok(method, { ...request, pageSize: 200, pageToken }, { over: "rest" });
      found.push(...page[member]);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return found;
  };

  test("is answered as it was written, in every field", { timeout }, async () => {
    const published = await readPublished(folder);
    const advisoryCount = published.reduce((sum, { advisories }) => sum + advisories.length, 0);
    const documents = documentsOn[platform().database];
    expect([published.length, advisoryCount > 2.5 * documents]).toEqual([documents, true]);
    const count = published.length + advisoryCount;
    const nothing = {
      read: count,
      added: 0,
      changed: 0,
      unchanged: 0,
      removed: 0,
      refused: 0,
      unread: 0,
      passedOver: 4,
    };
    expect(await importAll()).toEqual({ code: 0, said: "", summary: { ...nothing, added: count } });
    expect(await importAll("--prune")).toEqual({ code: 0, said: "", summary: { ...nothing, unchanged: count } });

    const documentsAnswered = new Map((await all("ListDocuments", "documents")).map((each) => [each.id, each]));
    const request = { uidp: { childrenOf: group } };
    const advisories = new Map(
      (await all("ListAdvisories", "advisories", request)).map((each) => [each.advisoryId, each]),
    );
    expect([documentsAnswered.size, advisories.size]).toEqual([published.length, advisoryCount]);
    const compared = { fields: 0, different: [] as string[] };
    for (const document of published) {
      compare(documentsAnswered.get(document.package.name), documentJson(document), document.package.name, compared);
      for (const advisory of document.advisories) {
        const place = `${document.package.name} ${advisory.id}`;
        compare(advisories.get(advisory.id), advisoryJson(document.package.name, advisory), place, compared);
      }
    }
    expect(compared.different.slice(0, 20)).toEqual([]);
    expect(compared.fields).toBeGreaterThan(60 * documents);
  });
});

interface PublishedEvent {
  readonly timestamp: Date;
  readonly type: string;
  readonly data?: Json;
}

interface PublishedAdvisory {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly events: readonly PublishedEvent[];
}

interface PublishedDocument {
  readonly package: { readonly name: string };
  readonly advisories: readonly PublishedAdvisory[];
}

async function readPublished(folder: string): Promise<PublishedDocument[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(suffix));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.map((text) => load(text, { schema: YAML11_SCHEMA }) as PublishedDocument);
}

/** What the API must answer, by the published schema and the contract. */
function documentJson({ package: { name: id }, advisories }: PublishedDocument): Json {
  return {
    id,
    advisories: advisories.map(({ id: advisoryId, aliases, events }) => ({
      id: advisoryId,
      aliases,
      packageNamespace: "",
      events: newestFirst(events).map((event) => ({
        timestamp: event.timestamp.toISOString(),
        ...dataJson(event, { subpackage: "subpackageName", component: "componentName" }),
      })),
    })),
  };
}

function advisoryJson(artifactName: string, { id, aliases, events }: PublishedAdvisory): Json {
  const author = "advisories";
  const scans = newestFirst(events).filter(({ data }) => data?.type === "scan/v1");
  const latest = scans.filter(({ timestamp }) => timestamp.getTime() === scans[0]?.timestamp.getTime()).at(-1);
  const { componentName = artifactName, componentLocation = "/", componentType = "apk" } = latest?.data?.data ?? {};
  return {
    advisoryId: id,
    ...{ author, artifactName, artifactType: "apk", artifactArchitecture: "all" },
    ...{ componentName, componentLocation, componentType },
    aliases,
    events: newestFirst(events).map((event) => ({
      createTime: event.timestamp.toISOString(),
      author,
      reviewState: "REVIEW_STATE_APPROVED",
      ...dataJson(event, { subpackage: "subpackage", component: "component" }),
    })),
  };
}

function newestFirst(events: readonly PublishedEvent[]): PublishedEvent[] {
  return events.toSorted((a, b) => b.timestamp.getTime() - a.timestamp.getTime());
}

function dataJson({ type, data }: PublishedEvent, names: { subpackage: string; component: string }): Json {
  const note = data?.note ?? "";
  switch (type) {
    case "detection": {
      if (data.type === "manual") return { detection: { manual: {} } };
      const { cpeSearched, cpeFound, subpackageName, componentID, componentName, ...same } = data.data;
      if (data.type === "nvdapi") return { detection: { nvdapi: { cpeSearched, cpeFound } } };
      const renamed = {
        [names.subpackage]: subpackageName,
        componentId: componentID,
        [names.component]: componentName,
      };
      return { detection: { scanv1: { ...same, ...renamed } } };
    }
    case "fixed":
      return { fixed: { fixedVersion: data["fixed-version"] } };
    case "false-positive-determination": {
      const reason = `TYPE_${data.type.toUpperCase().replaceAll("-", "_")}`;
      return { falsePositiveDetermination: { type: reason, note } };
    }
    default:
      return { [type.replace(/-./g, (text) => text.slice(1).toUpperCase())]: { note } };
  }
}

/**
 * Counts the fields of what is expected, and names those that differ in what is answered. Lists have the same length.
 */
function compare(
  answered: unknown,
  expected: unknown,
  place: string,
  compared: { fields: number; different: string[] },
) {
  if (typeof expected === "object" && expected !== null) {
    const isSameLength = !Array.isArray(expected) || (Array.isArray(answered) && answered.length === expected.length);
    if (!isSameLength) compared.different.push(`${place}: another length`);
    for (const [name, value] of Object.entries(expected))
      compare((answered as Record<string, unknown> | undefined)?.[name], value, `${place}.${name}`, compared);
    return;
  }
  compared.fields += 1;
  const isSame =
    typeof expected === "string" && isTime(expected) ? isSameTime(answered, expected) : answered === expected;
  if (!isSame) compared.different.push(`${place}: ${JSON.stringify(answered)} is not ${JSON.stringify(expected)}`);
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text);
}

function isSameTime(answered: unknown, expected: string): boolean {
  return typeof answered === "string" && Date.parse(answered) === Date.parse(expected);
}
