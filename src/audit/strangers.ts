/**
 * Counts of calls without a caller. Anyone can make them, for ever, so that a record of each would fill the disk. They
 * are counted by result, minute and network: at most 1000 counts a minute, and one for all others.
 */
import ipaddr from "ipaddr.js";
import { type AuditRecord, emptyRecord } from "./records.ts";

/** A count as a record. */
export interface StrangerCount {
  readonly record: AuditRecord;
  /** When the first of the calls was made, in milliseconds since 1970. */
  readonly timeMs: number;
}

/** The calls of a minute that no record has yet. */
interface Counted {
  readonly code: string;
  readonly address: string;
  readonly timeMs: number;
  count: number;
}

const minuteMs = 60_000;
const firstMs = 1000;
const maxCounts = 1000;

/** The counts that are not in the log yet. Those of a minute are due a second after its first call, and at its end. */
export class StrangerCounts {
  #minute = Number.NaN;
  #counted = new Map<string, Counted>();
  #rest: Counted | undefined;
  /** How many counts of the minute are in the log. */
  #written = 0;
  /** The counts of earlier minutes. */
  readonly #ended: Counted[] = [];
  #dueMs = Number.POSITIVE_INFINITY;

  /** When the next of them are due, in milliseconds since 1970; Infinity if there are none. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /** Counts a call. */
  add({ code, address }: AuditRecord, nowMs: number): void {
    this.#begin(nowMs);
    const network = networkOf(address);
    const key = `${code} ${network}`;
    const counted = this.#counted.get(key);
    if (counted !== undefined) counted.count++;
    else if (this.#written + this.#counted.size < maxCounts)
      this.#counted.set(key, { code, address: network, timeMs: nowMs, count: 1 });
    else if (this.#rest !== undefined) this.#rest.count++;
    else this.#rest = { code: "", address: "", timeMs: nowMs, count: 1 };
  }

  /** The counts that are due at a time; at Infinity all. */
  take(timeMs: number): readonly StrangerCount[] {
    if (timeMs < this.#dueMs) return [];
    const endMs = (this.#minute + 1) * minuteMs;
    const due = [...this.#ended.splice(0), ...this.#counted.values()];
    this.#written += this.#counted.size;
    this.#counted = new Map();
    if (this.#rest !== undefined && timeMs >= endMs) {
      due.push(this.#rest);
      this.#rest = undefined;
    }
    this.#dueMs = this.#rest === undefined ? Number.POSITIVE_INFINITY : endMs;
    return due.map(({ timeMs, ...count }) => ({ record: { ...emptyRecord, ...count }, timeMs }));
  }

  /** Ends the minute before, and notes when what is counted now is due. */
  #begin(nowMs: number): void {
    const minute = Math.floor(nowMs / minuteMs);
    const endMs = (minute + 1) * minuteMs;
    if (minute === this.#minute) {
      this.#dueMs = Math.min(this.#dueMs, endMs);
      return;
    }
    this.#ended.push(...this.#counted.values(), ...(this.#rest === undefined ? [] : [this.#rest]));
    this.#counted = new Map();
    this.#rest = undefined;
    this.#written = 0;
    this.#minute = minute;
    this.#dueMs = Math.min(nowMs + firstMs, endMs);
  }
}

/** An IPv4 address, or the network of an IPv6 address with its first 64 bits, which one client may have for itself. */
function networkOf(address: string): string {
  const text = address.replace(/%.*$/, "");
  if (!ipaddr.isValid(text)) return address;
  const parsed = ipaddr.process(text); // an IPv4 address that is mapped to IPv6 is one
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/64`)}/64`;
}
