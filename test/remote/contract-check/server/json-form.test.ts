/** What readers of ProtoJSON pass over. */
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { oddities } from "../../../../src/remote/contract-check/server/json-form.ts";
import { desc, registry } from "../../../rest/fixture.ts";

const schema = desc("Everything");

function odd(json: JsonObject): string[] {
  const message = fromJson(schema, json, { registry, ignoreUnknownFields: true });
  const whole = toJson(schema, message, { registry, alwaysEmitImplicit: true });
  return oddities(schema, json, whole).map(({ kind, field }) => `${kind} ${field}`);
}

test.each<JsonObject>([
  {},
  { createTime: "2026-01-02T03:04:05Z", times: ["2026-01-02T03:04:05.120Z", "2026-01-02T03:04:05.000000001Z"] },
  { ttl: "3.000s", ttlsByName: { a: "-1s" } },
  { int64Value: "1", int32Value: 1, doubleValue: 1.5, floatValue: "NaN", bytesValue: "+/8=" },
  { kind: "KIND_AUDIO", kinds: ["KIND_PAPER"], kindsByNumber: { 1: "KIND_PAPER" } },
  { child: { claimMatch: { subject: "s" } }, matches: [{ issuer: "i" }], labels: { a: "b" } },
  { struct: { a: [1, null] }, value: null, any: { "@type": "type.googleapis.com/library.v1.Repo", uid: "u" } },
  { mask: "claimMatch.subject", int64Wrapper: "5", stringWrapper: "" },
  { createTime: null, "@odd": "x" },
])("%j is as it is written", (json) => {
  expect(odd(json)).toEqual([]);
});

test.each<[JsonObject, string]>([
  [{ createTime: "2026-01-02T03:04:05+00:00" }, "time library.v1.Everything.createTime"],
  [{ createTime: "2026-01-02T03:04:05+02:00" }, "time library.v1.Everything.createTime"],
  [{ createTime: "2026-01-02T03:04:05.12Z" }, "time library.v1.Everything.createTime"],
  [{ times: ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05-00:00"] }, "time library.v1.Everything.times"],
  [{ child: { createTime: "2026-01-02T03:04:05+00:00" } }, "time library.v1.Everything.createTime"],
  [{ create_time: "2026-01-02T03:04:05Z" }, "form library.v1.Everything.create_time"],
  [{ int64Value: 1 }, "form library.v1.Everything.int64Value"],
  [{ int64s: [1] }, "form library.v1.Everything.int64s"],
  [{ int32Value: "1" }, "form library.v1.Everything.int32Value"],
  [{ kind: 2 }, "form library.v1.Everything.kind"],
  [{ bytesValue: "-_8" }, "form library.v1.Everything.bytesValue"],
  [{ matches: [{}, { colour: 1 }] }, "unknown library.v1.ClaimMatch.colour"],
  [{ kind: "KIND_NEW" }, "unknown library.v1.Kind.KIND_NEW"],
  [{ kinds: ["KIND_PAPER", "KIND_NEW"] }, "unknown library.v1.Kind.KIND_NEW"],
  [{ matchesByFlag: { true: { colour: 1 } } }, "unknown library.v1.ClaimMatch.colour"],
])("%j is not", (json, expected) => {
  expect(odd(json)).toEqual([expected]);
});
