/** The packages that a vulnerability affects, as messages of the contract. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AffectedPackageSchema } from "../../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import { type AffectedFact, statusOfEvents } from "../../matching/index.ts";
import type { Affected } from "./affected.ts";
import { fixesOf, versOf } from "./vers.ts";

type AffectedMessage = MessageInitShape<typeof AffectedPackageSchema> & {
  readonly source: string;
  readonly id: string;
  readonly packageUrl: string;
  readonly distro: string;
};

const maxPackages = 10_000;
const maxVersions = 1000;
/** The texts of all messages together, so that a vulnerability fits into a page. */
const maxCharacters = 2 * 1024 * 1024;

/** The packages by package, feed, record and release; those that come first, where there are very many. */
export function affectedMessages(affected: readonly Affected[]): AffectedMessage[] {
  const sorted = affected.flatMap(messagesOf).sort(compare).slice(0, maxPackages);
  let characters = 0;
  const end = sorted.findIndex((message) => {
    characters += JSON.stringify(message).length;
    return characters > maxCharacters;
  });
  return end < 0 ? sorted : sorted.slice(0, end);
}

function messagesOf(affected: Affected): AffectedMessage[] {
  const { feed, id, key, facts, events, name = "", unmatched, subcomponent } = affected;
  const type = key.slice("pkg:".length, key.indexOf("/"));
  const status = events && statusOfEvents(events, type, "");
  if (status?.state === "NOT_AFFECTED") return [];
  const about = name === "" ? "" : `${name}: `;
  const part = subcomponent === undefined ? undefined : `is about ${subcomponent} in the package only`;
  const reason = unmatched ?? part;
  return facts.map((fact) => ({
    source: feed,
    id,
    packageUrl: key,
    distro: fact.distro,
    ...(events === undefined ? ofRanges(type, fact) : ofFix(type, fact, status?.fixedVersion ?? "")),
    unmatchedReason: reason === undefined ? "" : `${about}${reason}`,
  }));
}

function ofRanges(type: string, { ranges, versions }: AffectedFact) {
  const matched = ranges.filter(({ kind }) => kind !== "GIT");
  return {
    ranges: [...new Set(matched.flatMap((range) => versOf(type, range) ?? []))],
    versions: versions.slice(0, maxVersions),
    fixedVersions: fixesOf(matched),
  };
}

/** An advisory with events: versions below the fix, or all, of those that it is about. */
function ofFix(type: string, { versions }: AffectedFact, fix: string) {
  const events = [{ introduced: "0" }, ...(fix === "" ? [] : [{ fixed: fix }])];
  return {
    ranges: versions.length > 0 ? [] : [versOf(type, { events })!],
    versions: versions.slice(0, maxVersions),
    fixedVersions: fix === "" ? [] : [fix],
  };
}

function compare(a: AffectedMessage, b: AffectedMessage): number {
  const [x, y] = [a, b].map(({ packageUrl, source, id, distro, unmatchedReason }) =>
    [packageUrl, source, id, distro, unmatchedReason].join("\0"),
  );
  return x! < y! ? -1 : Number(x! > y!);
}
