/**
 * Renews the picture of the README, `docs/images/console.png`: the overview of a group in Chromium, on a server with the
 * documents of `console.yaml` and the advisories below. Usage: `node docs/images/console.ts`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, stopAll } from "../../bench/processes.ts";
import { runCommand, startProgram } from "../../bench/program.ts";
import { startBrowser } from "../../test/conformance/chromium.ts";

/** Packages, with the CVSS vectors of their open advisories. */
const packages = {
  curl: ["AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N"],
  glibc: ["AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H", "AV:L/AC:H/PR:L/UI:N/S:U/C:L/I:N/A:L"],
  openssl: ["AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N", "AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H"],
  zlib: ["AV:N/AC:L/PR:N/UI:R/S:U/C:L/I:L/A:N"],
};

const feed = join(folder, "feed");
const metadata = join(folder, "osv");
for (const path of [feed, metadata]) mkdirSync(path);
let number = 0;
for (const [name, vectors] of Object.entries(packages)) {
  const advisories = vectors.map((vector) => {
    const id = `CVE-2026-${1001 + number}`;
    const severity = [{ type: "CVSS_V3", score: `CVSS:3.1/${vector}` }];
    writeFileSync(join(metadata, `${id}.json`), JSON.stringify({ id, modified: "2026-01-02T00:00:00Z", severity }));
    const detection = { timestamp: "2026-01-03T00:00:00Z", type: "detection", data: { type: "manual" } };
    return { id: `CGA-2222-2222-222${2 + number++}`, aliases: [id], events: [detection] };
  });
  const document = { "schema-version": "2.0.2", package: { name }, advisories };
  writeFileSync(join(feed, `${name}.advisories.yaml`), JSON.stringify(document));
}

const database = `sqlite:${join(folder, "platform.db")}`;
runCommand(["init", "--database", database]);
const { port, token, stop } = await startProgram(database, []);
const server = ["--server", `http://127.0.0.1:${port}`, "--token", token];
runCommand(["apply", "-f", join(import.meta.dirname, "console.yaml"), ...server]);
const group = runCommand(["get", "group", "acme", "-o", "name", ...server])
  .trim()
  .replace("group/", "");
runCommand(["import", "osv", metadata, "--database", database]);
runCommand(["import", "advisories", feed, "--group", group, "--database", database]);
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.goto(`http://127.0.0.1:${port}/console/view/groups/${group}`);
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("link", { name: "release-pipeline" }).waitFor();
  await page.getByText("1 Critical").waitFor();
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(import.meta.dirname, "console.png") });
} finally {
  await browser.close();
  await stop();
  stopAll();
}
