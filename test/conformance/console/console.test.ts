/** The console: what is served of it, and what a person does with every resource in a browser. */
import { describe, expect, test } from "vitest";
import { makeGroup, makeRepo, makeTag } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { anyCall, consoleBrowser, go, hasBrowser, lookAt, screenshot, seriousFindings } from "./browser.ts";

onOneServer("the console over HTTP", (platform) => {
  const get = (path: string, headers: Record<string, string> = {}) => fetch(platform().baseUrl + path, { headers });

  test("every path of it has the page, which forbids what is inline, framed or from elsewhere", async () => {
    const nonces = new Set<string>();
    for (const path of ["/console", "/console/", "/console/list/repos?order=name", "/console/view/repos/0a1b/2c3d"]) {
      const answer = await get(path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      const [, nonce] = /style-src 'self' 'nonce-([\w-]{22})';/.exec(policy) ?? [];
      nonces.add(nonce!);
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src /);
      expect(policy).toContain("; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      expect(answer.headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(await answer.text()).toContain(`<meta property="csp-nonce" nonce="${nonce}">`);
    }
    expect(nonces.size).toBe(4);
  });

  test("what is loaded first has at most 320 KB, compressed, and is kept for good", async () => {
    const page = await (await get("/console")).text();
    const named = [...page.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    const scripts = await Promise.all(
      named.filter((path) => path.endsWith(".js")).map(async (path) => (await get(path)).text()),
    );
    const [contract] = /\/console\/assets\/contract-[\w-]+\.binpb/.exec(scripts.join("\n")) ?? [];
    const paths = [...named, contract!];
    expect(paths.length).toBeGreaterThan(3);
    let bytes = Buffer.byteLength(page);
    for (const path of paths) {
      const answer = await get(path, { "accept-encoding": "br" });
      expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(answer.headers.get("content-encoding")).toBe("br");
      bytes += Number(answer.headers.get("content-length"));
    }
    console.log(`first load of the console: ${(bytes / 1000).toFixed(0)} KB`);
    expect(bytes).toBeLessThanOrEqual(320_000);
  });

  test.each(["/console/assets/other-01234567.js", "/consoles"])("%s is not found", async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});

onOneServer(
  "the console that is switched off",
  (platform) => {
    test.each(["/console", "/console/list/repos"])("%s is not found", async (path) => {
      expect((await fetch(platform().baseUrl + path)).status).toBe(404);
    });
  },
  { pages: "off" },
);

onOneServer("the console in a browser", (platform) => {
  const console = consoleBrowser(platform);

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("accessible pages, nothing to complain about", async () => {
      const group = await makeGroup(platform(), platform().root);
      const repo = await makeRepo(platform(), group.uid);
      const { page, complaints } = await console.open("");
      for (const [name, path, heading] of [
        ["home", "", "Platform API"],
        ["tree", "/tree", "Group tree"],
        ["list", "/list/repos", "Repos"],
        ["roles", "/list/role-bindings", "Role bindings"],
        ["versions", "/list/artifact-versions", "Artifact versions"],
        ["view", `/view/repos/${repo.uid}`, repo.name],
        ["group", `/view/groups/${group.uid}`, group.name],
        ["create", "/create/identities", "Create an identity"],
      ] as const) {
        await go(page, path);
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        await lookAt(page, name);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a token that the server does not accept is refused at its field, and none is kept", async () => {
      const { page } = await console.openSignedOut("/list/roles");
      await page.getByLabel("Token", { exact: true }).fill("not.a.token");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText(/request \S+\)/).waitFor();
      await screenshot(page, "sign-in-refused");
      await page.getByLabel("Token", { exact: true }).fill(platform().admin);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("link", { name: "viewer", exact: true }).waitFor();
      const kept = await page.evaluate(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
      );
      expect(kept).not.toContain(platform().admin.split(".")[2]);
      await page.getByRole("button", { name: "Account" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.context().close();
    });

    test("Next before the next page has come leads two pages on, to the rows that its label names", async () => {
      const group = await makeGroup(platform(), platform().root);
      const names = Array.from({ length: 60 }, (_, i) => `far-${String(i).padStart(2, "0")}`);
      for (const name of names) await platform().ok("CreateRepo", { parent: group.uid, repo: { name } });
      const filter = encodeURIComponent(JSON.stringify({ uidp: { childrenOf: group.uid } }));
      const { page } = await console.open(`/list/repos?filter=${filter}&size=25&order=name`);
      await page.getByText("1–25 of 60").waitFor();
      const clicked = Promise.withResolvers<void>();
      await page.route(/ListRepos/, async (route) => {
        await clicked.promise;
        await route.continue();
      });
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("26–50 of 60").waitFor();
      await page.getByRole("button", { name: "Next" }).click();
      await page.waitForURL(/at=50/);
      clicked.resolve();
      await page.getByText("51–60 of 60").waitFor();
      await page.getByRole("link", { name: "far-50" }).waitFor();
      await page.getByRole("link", { name: "far-59" }).waitFor();
      await page.context().close();
    });

    test("a list is ordered, paged and filtered by the server, and its address holds all of it", async () => {
      const group = await makeGroup(platform(), platform().root);
      const names = Array.from({ length: 27 }, (_, i) => `page-${String(i).padStart(2, "0")}`);
      for (const name of names) await platform().ok("CreateRepo", { parent: group.uid, repo: { name } });
      const filter = encodeURIComponent(JSON.stringify({ uidp: { childrenOf: group.uid } }));
      const { page, complaints } = await console.open(`/list/repos?filter=${filter}&size=25`);
      await page.getByText("1–25 of 27").waitFor();
      await page.getByRole("button", { name: /^Name/ }).click();
      await page.getByRole("button", { name: /^Name/ }).click();
      await page.getByRole("row", { name: /page-26/ }).waitFor();
      expect(page.url()).toContain("order=name");
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("26–27 of 27").waitFor();
      await page.getByRole("link", { name: "page-00" }).waitFor();
      await page.goBack();
      await page.getByText("1–25 of 27").waitFor();
      await page.getByRole("button", { name: "Filter", exact: true }).click();
      await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("page-07");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("1–1 of 1").waitFor();
      await page.getByRole("link", { name: "page-07" }).waitFor();
      await page.getByRole("link", { name: group.name }).waitFor(); // the name instead of the uid
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a resource is created and changed, and refused values are shown at their fields", async () => {
      const group = await makeGroup(platform(), platform().root);
      const { page, complaints } = await console.open(`/create/repos?parent=${encodeURIComponent(group.uid)}`);
      const name = page.getByRole("textbox", { name: "Name", exact: true });
      await name.fill("Not A Name");
      await page
        .getByText(/does not match|must match/)
        .first()
        .waitFor(); // while typing
      await screenshot(page, "create-refused");
      await name.fill("made-here");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.getByRole("heading", { name: "made-here", level: 1 }).waitFor();
      await page.getByRole("link", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Description" }).fill("changed in the console");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("tab", { name: "Fields" }).click();
      await page.getByRole("cell", { name: "changed in the console" }).waitFor();
      // What only the server knows: the name is taken.
      await platform().ok("CreateRepo", { parent: group.uid, repo: { name: "taken" } });
      await page.getByRole("link", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("taken");
      await page.getByRole("button", { name: "Save" }).click();
      await page
        .getByRole("alert")
        .getByText(/request id|ALREADY|taken|exists/i)
        .first()
        .waitFor();
      await screenshot(page, "edit-refused");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a delete that is blocked says what blocks it, and force is offered", async () => {
      const repo = await makeRepo(platform(), platform().root);
      await makeTag(platform(), repo.uid);
      const { page, complaints } = await console.open(`/view/repos/${repo.uid}`);
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("cannot delete repo with child tags").waitFor();
      await screenshot(page, "delete-blocked");
      expect(await seriousFindings(page)).toEqual([]);
      const confirm = dialog.getByRole("button", { name: "Delete the repo" });
      expect(await confirm.isDisabled()).toBe(true);
      await dialog.getByLabel("Force").check();
      await confirm.click();
      await page.getByRole("heading", { name: "Repos", level: 1 }).waitFor();
      await platform().refused("GetRepo", { uid: repo.uid }, "NOT_FOUND");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("the tree opens groups one by one", async () => {
      const outer = await makeGroup(platform(), platform().root);
      const inner = await makeGroup(platform(), outer.uid);
      const root = await platform().read("GetGroup", { uid: platform().root });
      const { page, complaints } = await console.open("/tree");
      await page.getByRole("button", { name: `Groups in ${root.name}`, exact: true }).click();
      await page.getByRole("button", { name: `Groups in ${outer.name}`, exact: true }).click();
      await page.getByRole("link", { name: String(inner.name), exact: true }).click();
      await page.getByRole("heading", { name: String(inner.name), level: 1 }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a session that ends asks for a token over the page, which keeps what was typed", async () => {
      const { page } = await console.open("/create/repos");
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("still-here");
      await page.route(anyCall, (route) =>
        route.fulfill({
          status: 401,
          contentType: "application/json",
          body: '{"code":"unauthenticated","message":"expired"}',
        }),
      );
      await page.getByRole("combobox", { name: "Parent" }).fill("anything");
      await page.getByText("Your session has ended").waitFor();
      await page.unroute(anyCall);
      await page.getByRole("dialog").getByLabel("Token", { exact: true }).fill(platform().admin);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("still-here");
      await page.context().close();
    });
  });
});
