/** The files that pages load, as `pages/build.mjs` has written them. */
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import { packageFile } from "../package-file.ts";

/** A file with its digest in its name. */
export interface Asset {
  /** The path that it is served at: `/assets/page-0123456789abcdef.css`. */
  readonly path: string;
  readonly type: string;
  read(): Promise<{ readonly identity: Buffer; readonly br: Buffer; readonly gzip: Buffer }>;
}

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files by name without digest: `page.css`. Empty if they have not been built. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const folder = packageFile("dist/pages/");
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw error;
  }
  return new Map(
    names.flatMap((name): [string, Asset][] => {
      const [, stem, extension = ""] = /^([a-z]+)-[0-9a-f]{16}\.(css|js|svg)\.br$/.exec(name) ?? [];
      if (stem === undefined) return [];
      const read = async () => {
        const br = await readFile(new URL(name, folder));
        const identity = await promisify(brotliDecompress)(br);
        return { identity, br, gzip: await promisify(gzip)(identity) };
      };
      return [
        [`${stem}.${extension}`, { path: `/assets/${name.slice(0, -".br".length)}`, type: types[extension]!, read }],
      ];
    }),
  );
}
