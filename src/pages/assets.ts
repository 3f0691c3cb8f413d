/** The files that pages load, as `pages/build.mjs` has written them. */
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** A file with its digest in its name. */
export interface Asset {
  /** The path that it is served at: `/assets/page-0123456789abcdef.css`. */
  readonly path: string;
  readonly type: string;
  read(): Promise<{ readonly identity: Buffer; readonly br: Buffer; readonly gzip: Buffer }>;
}

/** Folders of the files: in `dist` of a checkout, and of an installed package. */
const folders = ["../../dist/pages/", "../../pages/"].map((path) => new URL(path, import.meta.url));

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files by name without digest: `page.css`. Empty if they have not been built. */
export function readAssets(): ReadonlyMap<string, Asset> {
  for (const folder of folders) {
    const assets = assetsIn(folder);
    if (assets.size > 0) return assets;
  }
  return new Map();
}

function assetsIn(folder: URL): Map<string, Asset> {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw error;
  }
  return new Map(
    names.flatMap((name): [string, Asset][] => {
      const [, stem, extension = ""] = /^([a-z]+)-[0-9a-f]{16}\.(css|js|svg)$/.exec(name) ?? [];
      if (stem === undefined) return [];
      const read = async () => {
        const [identity, br, gzip] = await Promise.all(
          ["", ".br", ".gz"].map((suffix) => readFile(new URL(name + suffix, folder))),
        );
        return { identity: identity!, br: br!, gzip: gzip! };
      };
      return [[`${stem}.${extension}`, { path: `/assets/${name}`, type: types[extension]!, read }]];
    }),
  );
}
