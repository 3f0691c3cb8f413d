/** Runs nginx and HAProxy with the examples of `deploy`, with other ports, servers and files. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "../cli/platform-process.ts";

/** A proxy, and how its example is run. */
export interface Proxy {
  readonly example: string;
  readonly program: string;
  args(folder: string): readonly string[];
  files(folder: string, example: string, port: number): Readonly<Record<string, string>>;
}

/** The proxies: the command that runs each in the foreground, with the example in its folder. */
export const proxies = {
  nginx: {
    example: "deploy/nginx/platform.conf",
    program: "nginx",
    args: (folder: string) => ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"],
    files: (folder: string, example: string, port: number) => ({
      "nginx.conf": `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr warn;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder};`).join(" ")}
  ${example
    .replace(/ {2}listen \[::\].*\n/, "")
    .replace(/^ {2}listen 443/m, `  listen 127.0.0.1:${port}`)
    .replaceAll("/etc/nginx/tls/", `${folder}/`)}
}`,
    }),
  },
  HAProxy: {
    example: "deploy/haproxy/haproxy.cfg",
    program: "haproxy",
    args: (folder: string) => ["-db", "-f", join(folder, "haproxy.cfg")],
    files: (folder: string, example: string, port: number) => ({
      "haproxy.cfg": example
        .replace("bind :443", `bind 127.0.0.1:${port}`)
        .replaceAll("/etc/haproxy/tls/", `${folder}/`),
    }),
  },
} as const satisfies Record<string, Proxy>;

/** What {@link startProxy} needs. */
export interface ProxyOptions {
  readonly folder: string;
  readonly port: number;
  /** Host and port of each server. */
  readonly servers: readonly string[];
  readonly cert: string;
  readonly key: string;
}

/** Starts a proxy in the foreground. The caller stops it. */
export async function startProxy(
  proxy: Proxy,
  { folder, port, servers, cert, key }: ProxyOptions,
): Promise<ChildProcess> {
  const text = await readFile(join(repository, proxy.example), "utf8");
  const example = text.replaceAll(/^ *server .*127\.0\.0\.1:8080.*\n/gm, (line) =>
    servers
      .map((server, i) => line.replace("127.0.0.1:8080", server).replace("platform1", `platform${i + 1}`))
      .join(""),
  );
  const files = {
    ...proxy.files(folder, example, port),
    "platform.crt": cert,
    "platform.key": key,
    "platform.pem": `${cert}${key}`,
  };
  for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content);
  return spawn(proxy.program, proxy.args(folder), { stdio: ["ignore", "pipe", "pipe"] });
}

/** Why a program does not run; undefined if it does. */
export function whyNot(program: string): string | undefined {
  try {
    execFileSync(program, ["-v"], { stdio: "ignore" });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
