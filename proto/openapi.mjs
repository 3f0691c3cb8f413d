// A plugin of buf that writes the OpenAPI documents of the API, one for each version that has one. Usage: in
// buf.gen.yaml
import { openApiDocument } from "../src/app/openapi.ts";
import { openApiVersions } from "../src/app/openapi-files.ts";
import { runPlugin } from "../src/openapi/plugin.ts";

await runPlugin((services, commentOf) => {
  const versions = Map.groupBy(services, ({ file }) => versionOf(file, services));
  return Object.fromEntries(
    [...versions].flatMap(([version, members]) =>
      openApiVersions.includes(version)
        ? [[`openapi/platform-${version}`, openApiDocument(members, version, commentOf)]]
        : [],
    ),
  );
});

/**
 * The version of the API that a service belongs to. Services of a domain without a v2 belong to v2; services that are
 * not the platform's, to none.
 */
function versionOf({ proto }, services) {
  const [, domain, version] = /^platform\.(\w+)\.(v\d+)$/.exec(proto.package) ?? [];
  const hasV2 = services.some(({ file }) => file.proto.package === `platform.${domain}.v2`);
  return version === undefined || hasV2 ? version : "v2";
}
