import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/index.ts";

const read = (termsDocuments: string) =>
  readConfig({ flags: { termsDocuments }, env: {}, warn: () => {} }).termsDocuments;

describe("the documents of the operator", () => {
  const list = '[{"id":"ours.v1","label":"Ours","url":"https://example.com"},{"id":"bare.v1"}]';
  const documents = [
    { id: "ours.v1", label: "Ours", url: "https://example.com" },
    { id: "bare.v1", label: "", url: "" },
  ];

  it("are a JSON list", () => {
    expect(read(list)).toEqual(documents);
    expect(read(" []")).toEqual([]);
  });

  it("are in a file with one", () => {
    const folder = mkdtempSync(join(tmpdir(), "platform-terms-"));
    const path = join(folder, "terms.json");
    try {
      writeFileSync(path, list);
      expect(read(path)).toEqual(documents);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const bad: [string, string][] = [
    ["a file that is not there", "/nowhere/terms.json"],
    ["no JSON", "[{]"],
    ["texts", '["ours.v1"]'],
    ["nothing", "[null]"],
    ["no id", '[{"label":"Ours"}]'],
    ["an id that is not a text", '[{"id":1}]'],
    ["an id with a space", '[{"id":"ours v1"}]'],
    ["a label that is not a text", '[{"id":"ours.v1","label":1}]'],
    ["an unknown key", '[{"id":"ours.v1","link":"https://example.com"}]'],
    ["an id twice", '[{"id":"ours.v1"},{"id":"ours.v1"}]'],
  ];
  it.each(bad)("are refused with %s", (_, text) => {
    expect(() => read(text)).toThrow(/^--terms-documents: /);
  });
});
