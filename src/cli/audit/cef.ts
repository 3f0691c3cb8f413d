/** Audit records in the Common Event Format (ArcSight CEF, version 0). */
import type { AuditLine } from "../../audit/index.ts";
import { version } from "../../version.ts";

/** Severities from 0 to 10: of what succeeded, of what was denied, and of what failed otherwise. */
const severities = { done: 3, denied: 7, failed: 5 };

/** The line of a record. Empty values are left out. */
export function cefOf(record: AuditLine): string {
  const { code, method } = record;
  const name = method || "calls that were only counted";
  const header = ["Platform API", "platform", version(), method || "calls", name, String(severityOf(code))];
  const extension: Readonly<Record<string, string>> = {
    rt: String(Date.parse(record.time)),
    externalId: record.id,
    src: record.address.replace(/\/64$/, ""),
    suid: record.caller,
    requestClientApplication: record.userAgent,
    act: method,
    outcome: code,
    cnt: String(record.count),
    cs1Label: "issuer",
    cs1: record.issuer,
    cs2Label: "scope",
    cs2: record.scope,
    cs3Label: "resource",
    cs3: record.resource,
    cs4Label: "requestId",
    cs4: record.requestId,
  };
  const fields = Object.entries(extension).filter(
    ([key, value]) => value !== "" && extension[key.replace("Label", "")] !== "",
  );
  const text = fields.map(([key, value]) => `${key}=${escapedValue(value)}`).join(" ");
  return `CEF:0|${header.map(escapedHeader).join("|")}|${text}`;
}

function severityOf(code: string): number {
  if (code === "OK" || code === "") return severities.done;
  return code === "PERMISSION_DENIED" || code === "UNAUTHENTICATED" ? severities.denied : severities.failed;
}

function escapedHeader(text: string): string {
  return text.replaceAll(/[\\|]/g, "\\$&").replaceAll(/[\r\n]+/g, " ");
}

function escapedValue(text: string): string {
  return text.replaceAll(/[\\=]/g, "\\$&").replaceAll("\r", "\\r").replaceAll("\n", "\\n");
}
