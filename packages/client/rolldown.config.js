// Writes the JavaScript of the client, one file for each source, with the transports of Connect: their packages demand
// one version of @connectrpc/connect each, and that for Node a newer Node.
import { defineConfig } from "rolldown";
import { thirdPartyLicenses } from "../../deploy/third-party-licenses.ts";

/** Generated files that only annotations need. Clients read none, and value rules are the largest of all files. */
const annotations =
  /^import \{ (file_\w+) \} from "[^"]*\/(?:buf\/validate|google\/api|annotations)\/\w+_pb\.[jt]s";\n/gm;

const withoutAnnotations = {
  name: "without-annotations",
  transform: {
    filter: { id: /\/gen\// },
    handler(code) {
      const names = [...code.matchAll(annotations)].map(([, name]) => name);
      const keep = (_, files) =>
        `, [${files
          .split(", ")
          .filter((file) => !names.includes(file))
          .join(", ")}]);`;
      return code.replace(annotations, "").replace(/, \[([\w, ]*)\]\);$/m, keep);
    },
  },
};

export default defineConfig({
  input: ["src/client/package.ts", "src/client-node/package.ts", "src/testing/stand-in.ts"],
  platform: "neutral",
  transform: { target: "es2022" },
  plugins: [withoutAnnotations, thirdPartyLicenses()],
  external: [/^node:/, /^@bufbuild\/protobuf(\/|$)/, /^@connectrpc\/connect(\/|$)/],
  output: {
    dir: "dist/packages/client",
    cleanDir: true,
    preserveModules: true,
    preserveModulesRoot: ".",
    entryFileNames: ({ name }) => `${name.replace("node_modules/", "bundled/")}.js`,
  },
});
