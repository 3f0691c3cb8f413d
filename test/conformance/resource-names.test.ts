/** The patterns of `google.api.resource` match the names that resources have (AIP-4231). */
import { getOption, hasOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { resource } from "../../gen/google/api/resource_pb.ts";
import { methods } from "./contract.ts";
import { makeGroup } from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { onSqlite } from "./platform.ts";

const named = [...methods.values()].filter(
  ({ name, output }) => name.startsWith("Get") && hasOption(output, resource) && "uid" in output.field,
);

/** `{repo=**}` is any number of segments, `{document}` one. */
function expressionOf(pattern: string): RegExp {
  const source = pattern.replace(/\{\w+(=\*\*)?\}/g, (_, all) => (all ? "[^/]+(?:/[^/]+)*" : "[^/]+"));
  return new RegExp(`^${source}$`);
}

onSqlite("the pattern of a resource", (platform) => {
  test.each(named.map(({ name, output }) => ({ name, output })))(
    "matches what $name gets",
    async ({ name, output }) => {
      const { pattern, nameField } = getOption(output, resource);
      expect([pattern.length, nameField]).toEqual([1, "uid"]);
      const request = await methodFixtures[name]!.request(platform(), (await makeGroup(platform(), "")).uid);
      const { uid } = await platform().ok(name, request);
      expect(uid).toMatch(expressionOf(pattern[0]!));
    },
  );
});
