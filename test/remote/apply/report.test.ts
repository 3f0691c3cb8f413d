/** The progress of an apply on a terminal. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Report } from "../../../src/remote/apply/report.ts";

const { isTTY } = process.stderr;
let written: string[];
let nowMs: number;

beforeEach(() => {
  written = [];
  nowMs = 0;
  const record = (text: string | Uint8Array) => {
    written.push(String(text));
    return true;
  };
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  vi.spyOn(process.stderr, "write").mockImplementation(record);
  vi.spyOn(process.stdout, "write").mockImplementation(record);
  vi.spyOn(console, "error").mockImplementation((text) => void record(`${text}\n`));
});

afterEach(() => {
  vi.restoreAllMocks();
  process.stderr.isTTY = isTTY;
});

function report(): Report {
  const report = new Report();
  report.expect(1200);
  report.add(0, "unchanged", "Role a", []);
  nowMs = 1500;
  report.add(1, "unchanged", "Role b", []);
  report.fail(2, "failed", ["Role c"]);
  report.note("d");
  report.endProgress();
  return report;
}

test("it is told after a second, and removed before anything else is printed", () => {
  process.stderr.isTTY = true;
  report();
  expect(written).toEqual(["\r\u001b[K2 of 1,200", "\r\u001b[K", "error: Role c\n", "note: d\n"]);
});

test("it is not told where there is no terminal", () => {
  process.stderr.isTTY = false;
  report();
  expect(written).toEqual(["error: Role c\n", "note: d\n"]);
});
