/** The files that pages load, as `pages/build.mjs` and `console/build.mjs` have written them. */
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
  binpb: "application/octet-stream",
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files by name without digest: `page.css`. Empty if they have not been built. */
export function readAssets(): ReadonlyMap<string, Asset> {
  return new Map(
    readFolder("dist/pages/", "/assets/").map((asset) => {
      const [, stem, extension] = /([a-z]+)-[0-9a-f]{16}(\.\w+)$/.exec(asset.path)!;
      return [`${stem}${extension}`, asset];
    }),
  );
}

/** The licences of what the pages and the console contain; none of those that have not been built. */
export async function readLicenses(): Promise<string> {
  const texts = ["dist/pages/", "dist/console/"].map((folder) =>
    readFile(packageFile(`${folder}THIRD-PARTY-LICENSES.txt`), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    }),
  );
  return (await Promise.all(texts)).join("\n");
}

/**
 * The files of a folder of the package, which are compressed by Brotli. Empty if it has not been built.
 * @param base the path that they are served below.
 */
export function readFolder(folder: string, base: string): Asset[] {
  const url = packageFile(folder);
  let names: string[];
  try {
    names = readdirSync(url);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return names.flatMap((name) => {
    const [, file, extension = ""] = /^(.+\.(\w+))\.br$/.exec(name) ?? [];
    const type = types[extension];
    if (file === undefined || type === undefined) return [];
    const read = async () => {
      const br = await readFile(new URL(name, url));
      const identity = await promisify(brotliDecompress)(br);
      return { identity, br, gzip: await promisify(gzip)(identity) };
    };
    return [{ path: `${base}${file}`, type, read }];
  });
}
