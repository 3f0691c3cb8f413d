// Bundles the program of the next release, as that of this one.
import { fileURLToPath } from "node:url";
import program from "../../packages/server/rolldown.config.js";
import { changedSource } from "./changes.ts";

const nextRelease = {
  name: "next-release",
  resolveId: (source) => (source.startsWith("file:") ? fileURLToPath(source) : undefined),
  transform: (source, path) => changedSource(path, () => source),
};

export default { ...program, plugins: [nextRelease] };
