/** What must hold at the end of a world, once its records are written. */
import type { Json } from "../contract.ts";
import { plain } from "./plain.ts";
import type { Run } from "./run.ts";
import type { Side } from "./state.ts";
import type { Organisation } from "./world.ts";

const auditColumns = ["request_id"];
const eventColumns = ["type", "source", "subject", "extensions", "data"];

/** Makes a call at each installation whose record comes after all others. Returns how to see that it is written. */
export async function lastRecord(run: Run): Promise<() => Promise<boolean>> {
  const sinceMs = Date.now();
  const ids = await Promise.all(
    (["x", "y"] as const).map(async (side) => {
      const headers = run.requestId(undefined);
      const installation = run.installations[side];
      const token = run.owners.get("A")![side]!;
      await installation.method("GetRepo", { uid: "0".repeat(40) }, token, { headers });
      return headers["x-request-id"]!;
    }),
  );
  return async () => {
    const found = await Promise.all(
      (["x", "y"] as const).map(async (side, i) => {
        const records = await run.installations[side].log("audit_log", auditColumns, sinceMs);
        return records.some(({ columns }) => columns.request_id === ids[i]);
      }),
    );
    return found.every(Boolean);
  };
}

/** Compares what A has, its events and its audit log, and looks for A's calls in those of others. Errors: Violated. */
export async function checkEnd(run: Run): Promise<void> {
  await run.renewOwners();
  const { isSeenElsewhere } = run;
  const { isDescribedElsewhere } = run.state;
  for (const list of ["ListIdentities", "ListRoleBindings", "ListIdentityProviders", "ListGroups", "ListRepos"]) {
    const { x, y } = await onBoth((side) => all(run, side, "A", list));
    compare(run, `${list} at the end`, x, y, !(list === "ListIdentities" ? isSeenElsewhere : isDescribedElsewhere));
  }
  for (const list of ["ListAccess", "ListTermsAcceptances"]) {
    const { x, y } = await onBoth((side) => all(run, side, "A", list));
    compare(run, `${list} at the end`, x, y);
  }
  const events = await onBoth((side) => eventsOf(run, side));
  compare(run, "events", events.x, events.y);
  await checkAudit(run);
  for (const org of run.groups.keys()) if (org !== "A") await checkOther(run, org);
}

async function onBoth<T>(read: (side: Side) => Promise<T>): Promise<{ x: T; y: T }> {
  const [x, y] = await Promise.all([read("x"), read("y")]);
  return { x, y };
}

function compare(run: Run, what: string, x: Json, y: Json, isSettled = false): void {
  const foreign = run.foreignIn(JSON.stringify(x));
  if (foreign !== undefined) run.violate(`${what} names another`, `${foreign} in ${plain(x, run.labels.x)}`);
  const [withOthers, alone] = [linesOf(x, run.labels.x, isSettled), linesOf(y, run.labels.y, isSettled)];
  if (withOthers.join("\n") === alone.join("\n")) return;
  const more = withOthers.filter((line) => !alone.includes(line));
  const less = alone.filter((line) => !withOthers.includes(line));
  const fields = [...new Set([...differing(more, less)])].sort().join(",");
  run.violate(
    `${what} differ: ${fields}`,
    `only with the others:\n${more.join("\n")}\nonly without them:\n${less.join("\n")}`,
  );
}

function linesOf(items: Json[], labels: Run["labels"]["x"], isSettled: boolean): string[] {
  return items.map((item) => plain(item, labels, isSettled)).sort();
}

/** The names of the members that differ, if there is one line on each side. */
function differing([more, ...others]: string[], [less]: string[]): string[] {
  if (more === undefined || less === undefined || others.length > 0) return ["items"];
  const [a, b] = [JSON.parse(more), JSON.parse(less)];
  return Object.keys({ ...a, ...b }).filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]));
}

/** All items of a list, as an owner of an organisation sees them. */
async function all(run: Run, side: Side, org: Organisation, method: string): Promise<Json[]> {
  const scope = run.group(org, 0)[side]!;
  const items: Json[] = [];
  for (let pageToken = ""; ; ) {
    const about: Record<string, Json> = {
      ListAccess: { scope },
      ListAuditRecords: { scope },
      ListTermsAcceptances: { group: scope },
    };
    const request = {
      ...(about[method] ?? { uidp: { descendantsOf: scope } }),
      pageSize: 200,
      ...(pageToken !== "" && { pageToken }),
    };
    const { status, body } = await run.installations[side].method(method, request, run.owners.get(org)![side]!);
    if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
    items.push(...(Object.values(body).find(Array.isArray) ?? []));
    if (!body.nextPageToken) return items;
    pageToken = body.nextPageToken;
  }
}

/** The events about what is in A. */
async function eventsOf(run: Run, side: Side): Promise<Json[]> {
  const root = run.group("A", 0)[side]!;
  const entries = await run.installations[side].log("events", eventColumns, run.beginMs);
  return entries
    .filter(({ columns: { subject, extensions } }) => `${subject} ${extensions}`.includes(root))
    .map(({ timeUs, columns: { type, source, subject, extensions, data } }) => ({
      ...{ timeUs, type, source, subject },
      extensions: JSON.parse(String(extensions)),
      data: JSON.parse(String(data)),
    }));
}

async function checkAudit(run: Run): Promise<void> {
  const { x, y } = await onBoth((side) => all(run, side, "A", "ListAuditRecords"));
  const shown = (records: Json[]) =>
    records.filter(({ requestId }) => run.compared.has(requestId)).map(({ id, ...record }) => record);
  compare(run, "audit records", shown(x), shown(y));
  const foreign = run.foreignIn(JSON.stringify(x));
  if (foreign !== undefined) run.violate("audit log names another", JSON.stringify(x));
  for (const { requestId, caller, result, method } of x) {
    const about = run.about.get(requestId);
    if (run.about.has(requestId) && about !== "A" && !run.compared.has(requestId))
      run.violate("record of a call about another", `${method} (${requestId}) about ${about ?? "nobody"}`);
    const expected = run.compared.get(requestId);
    if (expected === undefined) continue;
    const label = run.labels.x.get(caller) ?? caller;
    const isDenied = result === "PERMISSION_DENIED";
    const right = isDenied ? expected.denied : expected.allowed;
    if ((isDenied || result === "OK") && !right.includes(label)) {
      run.violate(
        `actor of ${isDenied ? "denied" : "allowed"} call`,
        `${method} by ${label}, not ${right.join(" or ")} (${requestId})`,
      );
    }
  }
}

/** Another organisation has nothing of what is about A, nor of exchanges by whom A knows. */
async function checkOther(run: Run, org: Organisation): Promise<void> {
  for (const record of await all(run, "x", org, "ListAuditRecords")) {
    const { requestId } = record;
    if (!run.about.has(requestId)) continue;
    const about = run.about.get(requestId);
    if (about !== org && (about !== undefined || run.compared.has(requestId)))
      run.violate("record elsewhere", `${org} has ${plain(record, run.labels.x)}`);
  }
  for (const { uid, lastSeenTime } of await all(run, "x", org, "ListIdentities")) {
    const about = run.times.get(Date.parse(lastSeenTime));
    if (about?.every((one) => one === "A"))
      run.violate("last use elsewhere", `${run.labels.x.get(uid)} of ${org} by a call about A`);
  }
}
