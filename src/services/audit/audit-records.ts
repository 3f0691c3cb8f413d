/** The service that lists audit records. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  AuditRecordSchema,
  AuditService,
  type ListAuditRecordsRequest,
  ListAuditRecordsResponseSchema,
} from "../../../gen/platform/audit/v1/audit_pb.ts";
import { type AuditFilter, type AuditLine, countAudit, listAudit } from "../../audit/index.ts";
import { databaseOf, implement, openList } from "../../resource/index.ts";

export const auditService = implement(AuditService, [], {
  async listAuditRecords(request: ListAuditRecordsRequest, context) {
    const { query, after, pageSize, tokenAfter } = openList(unsortable, request, context);
    const filter: AuditFilter = {
      scope: query.scope,
      caller: query.caller,
      method: query.method,
      code: query.result,
      sinceMs: query.startTime && millisecondsOf(query.startTime),
      untilMs: query.endTime && millisecondsOf(query.endTime),
    };
    const session = databaseOf(context);
    const place = after && { timeUs: Number(after[0]), id: String(after[1]) };
    const [{ lines, last }, { count, isEstimated }] = await Promise.all([
      listAudit(session, filter, { after: place, limit: pageSize }),
      countAudit(session, filter),
    ]);
    return create(ListAuditRecordsResponseSchema, {
      records: lines.map(messageOf),
      totalCount: BigInt(count),
      estimated: isEstimated,
      ...(last !== undefined && { nextPageToken: tokenAfter([last.timeUs, last.id]) }),
    });
  },
});

const unsortable = { sortNames: {}, defaultOrder: [] };

/** No record is from before 1970 or after 2255, where the microseconds of the log end. */
const maxMs = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

function millisecondsOf(time: Timestamp): number {
  return Math.min(Math.max(0, timestampMs(time)), maxMs);
}

function messageOf({ time, caller, code: result, count, ...same }: AuditLine) {
  return create(AuditRecordSchema, {
    ...same,
    time: timestampFromMs(Date.parse(time)),
    caller: caller.startsWith("cli:") ? "cli" : caller, // its user and host are the operator's alone
    result,
    count: BigInt(count),
  });
}
