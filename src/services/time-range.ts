/** The range of times that requests of logs and of queues select. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** A range in milliseconds since 1970: `sinceMs` or later, and before `untilMs`. */
interface TimeRange {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
}

/** Nothing is from before 1970 or after 2255, where the microseconds of logs and queues end. */
const maxMs = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

/** The range of a request. */
export function timeRangeOf(request: {
  readonly startTime?: Timestamp | undefined;
  readonly endTime?: Timestamp | undefined;
}): TimeRange {
  const { startTime, endTime } = request;
  return { sinceMs: startTime && millisecondsOf(startTime), untilMs: endTime && millisecondsOf(endTime) };
}

function millisecondsOf(time: Timestamp): number {
  return Math.min(Math.max(0, timestampMs(time)), maxMs);
}
