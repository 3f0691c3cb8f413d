// Bundles the plugin of protoc and buf, with what it uses besides the packages that this one is installed beside.
import { defineConfig } from "rolldown";
import { thirdPartyLicenses } from "../../deploy/third-party-licenses.ts";

export default defineConfig({
  input: "packages/rest/protoc-gen-openapi-rest.ts",
  platform: "node",
  transform: { target: "node20" },
  plugins: [thirdPartyLicenses()],
  external: [/^@bufbuild\/protobuf(\/|$)/, /^@connectrpc\/connect(\/|$)/],
  output: {
    dir: "dist/packages/rest/plugin",
    cleanDir: true,
    comments: { annotation: false, jsdoc: false, legal: true },
  },
});
