/** Audit records in the Common Event Format (ArcSight CEF, version 0). */
import type { AuditLine } from "../../audit/index.ts";
import { version } from "../../version.ts";

/** Severities from 0 to 10: of what succeeded, of what was denied, and of what failed otherwise. */
const severities = { done: 3, denied: 7, failed: 5 };

/** The line of a record. Empty values are left out. */
export function cefOf({
  time,
  id,
  caller,
  issuer,
  method,
  scope,
  resource,
  code,
  requestId,
  address,
  userAgent,
  count,
}: AuditLine): string {
  const name = method || "calls that were only counted";
  const header = ["Platform API", "platform", version(), method || "calls", name, String(severityOf(code))];
  const extension = {
    rt: String(Date.parse(time)),
    externalId: id,
    src: address.replace(/\/64$/, ""),
    suid: caller,
    requestClientApplication: userAgent,
    act: method,
    outcome: code,
    cnt: String(count),
    cs1Label: "issuer",
    cs1: issuer,
    cs2Label: "scope",
    cs2: scope,
    cs3Label: "resource",
    cs3: resource,
    cs4Label: "requestId",
    cs4: requestId,
  };
  const values: Readonly<Record<string, string>> = extension;
  const fields = Object.entries(values).filter(
    ([key, value]) => value !== "" && values[key.replace("Label", "")] !== "",
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
