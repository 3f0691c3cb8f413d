// A plugin of buf that writes the OpenAPI documents of the API, one for each version that has one. Usage: in buf.gen.yaml
import { runNodeJs } from "@bufbuild/protoplugin";
import { openApiDocument } from "../src/app/openapi.ts";
import { openApiVersions } from "../src/app/openapi-files.ts";
import { createOpenApiPlugin } from "../src/openapi/plugin.ts";

const plugin = createOpenApiPlugin({
  name: "openapi",
  version: "1",
  documentsOf(services, commentOf) {
    const versions = Map.groupBy(services, ({ file }) => /^platform\.\w+\.(v\d+)$/.exec(file.proto.package)?.[1]);
    return Object.fromEntries(
      [...versions].flatMap(([version, members]) =>
        openApiVersions.includes(version)
          ? [[`openapi/platform-${version}`, openApiDocument(members, version, commentOf)]]
          : [],
      ),
    );
  },
});

runNodeJs(plugin);
