/** The service that lists audit records. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AuditRecordSchema,
  AuditService,
  ListAuditRecordsResponseSchema,
} from "../../../gen/platform/audit/v1/audit_pb.ts";
import { type AuditFilter, type AuditLine, countAudit, listAudit } from "../../audit/index.ts";
import { databaseOf, implement, openList } from "../../resource/index.ts";
import { timeRangeOf } from "../time-range.ts";

export const auditService = implement(AuditService, [], {
  async listAuditRecords(request, context) {
    const { query, order, after, pageSize, tokenAfter } = openList(byTime, request, context);
    const filter: AuditFilter = {
      scope: query.scope || undefined, // all of it for who may list at the whole platform
      caller: query.caller,
      method: query.method,
      code: query.result,
      ...timeRangeOf(query),
    };
    const session = databaseOf(context);
    const place = after && { timeUs: Number(after[0]), id: String(after[1]) };
    const oldestFirst = order[0]?.descending === false;
    const [{ lines, last }, { count, isEstimated }] = await Promise.all([
      listAudit(session, filter, { after: place, skip: request.skip, limit: pageSize, oldestFirst }),
      countAudit(session, filter),
    ]);
    return create(ListAuditRecordsResponseSchema, {
      records: lines.map(messageOf),
      totalCount: BigInt(count),
      estimated: isEstimated,
      skipped: request.skip,
      ...(last !== undefined && { nextPageToken: tokenAfter([last.timeUs, last.id]) }),
    });
  },
});

const byTime = { sortNames: { time: "time" }, defaultOrder: [{ column: "time", descending: true }] };

function messageOf({ time, caller, code: result, count, ...same }: AuditLine) {
  return create(AuditRecordSchema, {
    ...same,
    time: timestampFromMs(Date.parse(time)),
    caller: caller.startsWith("cli:") ? "cli" : caller, // its user and host are the operator's alone
    result,
    count: BigInt(count),
  });
}
