/** Levels of severity, in words and colours. */
import type { DescField } from "@bufbuild/protobuf";
import type { Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import type { LevelCount } from "../../../gen/platform/findings/v1/images_pb.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { shortName } from "../catalog/enums.ts";

const typeName = "platform.findings.v1.Finding.Level";

/** Parameters of SGR (ECMA-48), each with those that end it. */
const colours: Readonly<Record<string, readonly [begin: string, end: string]>> = {
  critical: ["1;31", "22;39"],
  high: ["31", "39"],
  medium: ["33", "39"],
  low: ["36", "39"],
};

/** Whether the values of a field are levels. */
export function isLevel(field: DescField): boolean {
  return field.enum?.typeName === typeName;
}

/** `critical`; "unrated" for the unspecified level. */
export function levelWord(level: Finding_Level): string {
  const type = contractRegistry().getEnum(typeName)!;
  return level === 0 ? "unrated" : shortName(type, type.value[level]?.name ?? String(level));
}

/** `2 critical, 3 high`; "" for no counts. */
export function levelCountsText(counts: readonly Pick<LevelCount, "level" | "count">[]): string {
  return counts.map(({ level, count }) => `${count} ${levelWord(level)}`).join(", ");
}

/** The text of a cell with the levels in it in colour, each with the number before it. */
export function colouredLevels(text: string): string {
  return text.replace(/(?:\d+ )?\b(critical|high|medium|low)\b/g, (found, level: string) => {
    const [begin, end] = colours[level]!;
    return `\u001b[${begin}m${found}\u001b[${end}m`;
  });
}
