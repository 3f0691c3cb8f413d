import { expect, test } from "vitest";
import { fieldPathsOf, parseJson } from "../../../src/codec/index.ts";
import { desc } from "../../rest/fixture.ts";

test.each([
  ["{}", []],
  ["[]", []],
  ['{"stringValue":""}', ["string_value"]],
  ['{"string_value":null,"boolValue":false}', ["string_value", "bool_value"]],
  ['{"claimMatch":{"subject":"s"}}', ["claim_match.subject"]],
  ['{"claimMatch":{"subject":"s","issuer":null}}', ["claim_match.subject", "claim_match.issuer"]],
  ['{"child":{"child":{"claimMatch":{"subject":"s"}},"kind":1}}', ["child.child.claim_match.subject", "child.kind"]],
  ['{"claimMatch":{}}', ["claim_match"]],
  ['{"claimMatch":null}', ["claim_match"]],
  ['{"claimMatch":{"nope":1}}', ["claim_match"]],
  ['{"matches":[{"subject":"s"}],"labels":{"a":"b"}}', ["matches", "labels"]],
  [
    '{"createTime":"x","struct":{"a":1},"any":{"a":1},"stringWrapper":"x"}',
    ["create_time", "struct", "any", "string_wrapper"],
  ],
  ['{"choiceMatch":{"subject":"s"}}', ["choice_match.subject"]],
  ['{"nope":1,"kind":1}', ["kind"]],
])("%s speaks of %j", (json, paths) => {
  expect(fieldPathsOf(desc("Everything"), parseJson(json))).toEqual(paths);
});
