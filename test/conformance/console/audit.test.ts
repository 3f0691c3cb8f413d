/** The audit log in the console. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { appendAudit, auditEntry, emptyRecord } from "../../../src/audit/index.ts";
import { makeGroup, makeMember, makeRepo } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, hasBrowser, lookAt } from "./browser.ts";

/** The methods of the records that are shown, in their order. */
const methods = (page: Page) => page.locator("tbody tr td:nth-child(3) span").allInnerTexts();

onOneServer("the audit log in the console", (platform) => {
  const console = consoleBrowser(platform);

  /** Writes records of a group, the first of them as the oldest. */
  const write = (scope: string, methods: readonly string[]) =>
    platform().write(async (session) => {
      const startMs = Date.now() - 3_600_000;
      for (const [i, method] of methods.entries())
        await appendAudit(session, auditEntry({ ...emptyRecord, method, scope, code: "OK", count: 1 }, startMs + i));
    });

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("an accessible page, nothing to complain about", async () => {
      const group = await makeGroup(platform());
      const { token } = await makeMember(platform(), group.uid, "owner");
      await makeRepo(platform(), group.uid);
      await platform().call("GetGroup", { uid: platform().root }, { as: token });
      await write(group.uid, ["cli/token"]);
      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Audit`, {}, token);
      await page.locator("tbody").getByText("CreateRepo").waitFor();
      await lookAt(page, "audit");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("records are filtered by what the address says, newest first", async () => {
      const group = await makeGroup(platform());
      const owner = await makeMember(platform(), group.uid, "owner");
      const repo = await platform().ok(
        "CreateRepo",
        { parent: group.uid, repo: { name: "audited" } },
        { as: owner.token, headers: { "x-request-id": "request-of-the-repo" } },
      );
      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Audit`, {}, owner.token);
      await page.locator("tbody").getByText("CreateRepo").waitFor();
      expect(await methods(page)).toEqual(["CreateRepo", "CreateRoleBinding", "CreateIdentity", "CreateGroup"]);
      const row = page.getByRole("row", { name: /CreateRepo/ });
      await row.getByRole("link", { name: "audited" }).waitFor();
      await row.getByRole("button", { name: "Copy request id request-…" }).waitFor();

      await page.getByRole("combobox", { name: "Method" }).fill("CreateGroup");
      await page.keyboard.press("Enter");
      await expect.poll(() => methods(page)).toEqual(["CreateGroup"]);
      await page.goBack();
      await row.waitFor();

      await page.getByRole("combobox", { name: "Caller" }).fill(owner.uid);
      await page.getByRole("option").click();
      await expect.poll(() => methods(page)).toEqual(["CreateRepo"]);
      await page.getByRole("combobox", { name: "Result" }).fill("NOT_FOUND");
      await page.getByRole("option", { name: "NOT_FOUND" }).click();
      await page.getByText("No records match these filters").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.locator("tbody").getByText("CreateGroup").waitFor();
      await page.getByLabel("Until").fill("2020-01-01T00:00");
      await page.getByText("No records match these filters").waitFor();
      expect(decodeURIComponent(page.url())).toContain('"endTime":"2');
      await page.getByRole("button", { name: "Clear filters" }).click();
      await row.getByRole("link", { name: "audited" }).click();
      await page.getByRole("heading", { name: repo.name, level: 1 }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("older records are read on demand, and beyond pages where nothing matches", async () => {
      const group = await makeGroup(platform());
      await write(group.uid, ["cli/oldest", ...Array.from({ length: 2300 }, () => "cli/doctor.repair")]);
      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Audit`);
      await page.locator("tbody").getByText("cli/doctor.repair").first().waitFor();
      expect(await methods(page)).toHaveLength(50);
      await page.getByRole("button", { name: "Show older" }).click();
      await expect.poll(() => methods(page)).toHaveLength(100);
      await page.getByRole("combobox", { name: "Method" }).fill("cli/oldest");
      await page.keyboard.press("Enter");
      await page.locator("tbody").getByText("cli/oldest").waitFor();
      expect(await methods(page)).toEqual(["cli/oldest"]);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("somebody who may not read the log is told so", async () => {
      const group = await makeGroup(platform());
      const { token } = await makeMember(platform(), group.uid, "viewer");
      const { page } = await console.open(`/view/groups/${group.uid}?tab=Audit`, {}, token);
      await page.getByRole("alert").getByText("CAP_AUDIT_LIST").waitFor();
      await page.context().close();
    });
  });
});
