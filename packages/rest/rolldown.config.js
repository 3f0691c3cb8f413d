// Writes the JavaScript of the transcoder, one file for each source, with what it uses besides its peers: the value
// rules of protovalidate, and for the plugin of protoc a writer of YAML.
import { defineConfig } from "rolldown";
import { thirdPartyLicenses } from "../../deploy/third-party-licenses.ts";

export default defineConfig({
  input: ["src/rest/index.ts", "src/openapi/package.ts", "packages/rest/protoc-gen-openapi-rest.ts"],
  platform: "node",
  transform: { target: "es2022" },
  plugins: [thirdPartyLicenses()],
  external: [/^@bufbuild\/protobuf(\/|$)/, /^@connectrpc\/connect(\/|$)/],
  output: {
    dir: "dist/packages/rest",
    cleanDir: true,
    preserveModules: true,
    preserveModulesRoot: ".",
    entryFileNames: ({ name }) => `${name.replace("packages/rest/", "bin/").replace("node_modules/", "bundled/")}.js`,
  },
});
