/** Group invites in the console: their links, and how they are accepted. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { builtInRole, makeGroup, makeIdentity, makeMember } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, lookAt, screenshot, seriousFindings, signIn } from "./browser.ts";

/** Creates an invite by the form, and returns the link that is shown. */
async function createInvite(page: Page, group: string): Promise<string> {
  await go(page, `/create/group-invites?parent=${encodeURIComponent(group)}`);
  await page.getByRole("combobox", { name: "Role UID" }).fill("viewer");
  await page.getByRole("option", { name: /^viewer / }).click();
  await page.getByLabel("TTL").fill("3600");
  await page.getByLabel("Single use").check();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  return page.getByRole("textbox", { name: "Link to accept it" }).inputValue();
}

onOneServer("group invites in the console", (platform) => {
  const console = consoleBrowser(platform);

  const create = async (group: string, more = {}) =>
    platform().ok("CreateGroupInvite", {
      parent: group,
      groupInvite: { roleUid: await builtInRole(platform(), "viewer"), ttl: "3600s", ...more },
    });

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("accessible pages, nothing to complain about", async () => {
      const group = await makeGroup(platform(), platform().root, { description: "what the team ships" });
      const { token } = await makeMember(platform(), group.uid, "owner");
      const invite = await create(group.uid);
      const { page, complaints } = await console.open(`/accept#code=${encodeURIComponent(invite.code)}`, {}, token);
      for (const [name, path, text] of [
        ["invite-accept", undefined, "with the role"],
        ["invite", `/view/group-invites/${invite.uid}`, "Whoever has the code enters it there"],
      ] as const) {
        if (path !== undefined) await go(page, path);
        await page.getByText(text).first().waitFor();
        await lookAt(page, name);
      }
      await createInvite(page, group.uid);
      await lookAt(page, "invite-created");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("the link of a new invite is accepted by somebody who signs in", async () => {
      const group = await makeGroup(platform());
      const { token } = await makeMember(platform(), group.uid, "owner");
      const guest = await makeIdentity(platform(), group.uid);
      const { page: host, complaints } = await console.open("", {}, token);
      const link = await createInvite(host, group.uid);
      await host.getByRole("img", { name: "QR code: Link to accept it" }).waitFor();
      expect(link).toMatch(/\/console\/accept#code=/);
      const code = decodeURIComponent(link.split("#code=")[1]!);
      await host.getByRole("link", { name: "Open the group invite" }).click();
      await host.getByRole("img", { name: "QR code: Page that accepts invites" }).waitFor();
      expect(await host.content()).not.toContain(code);

      const { page, complaints: others } = await console.openSignedOut(link.split("/console")[1]!);
      const urls: string[] = [];
      page.on("request", (request) => urls.push(request.url()));
      await page.getByLabel("Token", { exact: true }).waitFor();
      expect(page.url()).toBe(`${platform().baseUrl}/console/accept`);
      await signIn(page, await platform().token(guest.uid));
      await page.getByText(`You join ${group.name} with the role viewer.`).waitFor();
      await page.getByText(`You are signed in as`).waitFor();
      const bindings = async () => (await platform().ok("ListRoleBindings", { identity: guest.uid })).totalCount;
      expect(await bindings()).toBe("0");
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByRole("status").getByText("with the role viewer").waitFor();
      await screenshot(page, "invite-joined");
      expect(await bindings()).toBe("1");
      await page.getByRole("link", { name: "Open the group" }).click();
      await page.getByRole("heading", { name: group.name, level: 1 }).waitFor();
      await page.goBack();
      await page.getByRole("textbox", { name: "Code" }).waitFor(); // it is forgotten
      const kept = await page.evaluate(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])",
      );
      expect(decodeURIComponent(`${kept} ${urls}`)).not.toContain(code);
      expect([...complaints, ...others]).toEqual([]);
      await page.context().close();
      await host.context().close();
    });

    test("a code that the caller cannot accept is explained, and another one can be entered", async () => {
      const group = await makeGroup(platform());
      const guest = await makeIdentity(platform(), group.uid);
      const invite = await create(group.uid);
      const token = await platform().token(guest.uid);
      const { page, complaints } = await console.open("/accept#code=no-such-code", {}, token);
      await page.getByRole("alert").getByText("no invite that you can accept has this code").waitFor();
      await page.getByText("can have expired").waitFor();
      await screenshot(page, "invite-refused");
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.getByRole("button", { name: "Accept" }).isDisabled()).toBe(true);
      await page.getByRole("button", { name: "Use another code" }).click();
      await page.getByRole("textbox", { name: "Code" }).fill(invite.code);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText(`You join ${group.name}`).waitFor();
      // A link that is pasted into the address of an open tab.
      await page.evaluate(`location.hash = "code=${encodeURIComponent("another-code")}"`);
      await page.getByRole("alert").getByText("no invite that you can accept has this code").waitFor();
      expect(page.url()).not.toContain("another-code");
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
