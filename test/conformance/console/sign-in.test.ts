/** Sign-in at an OpenID provider that nobody here wrote, and the session of the browser after it. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtInRoleUid } from "../../../src/services/iam/built-in-roles.ts";
import { startOpenIdProvider } from "../../remote/sign-in/openid-provider.ts";
import { makeGroup } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { anyCall, consoleBrowser, hasBrowser, lookAt, screenshot, seriousFindings, signIn } from "./browser.ts";

const provider = await startOpenIdProvider();
afterAll(() => provider?.close());
const issuer = provider?.url ?? "https://login.example.com";
/** What the pages of the provider load. */
const fonts = /https:\/\/fonts\.googleapis\.com\//;
const renewals = "**/sts/exchange_refresh_token";

onOneServer(
  "signing in at the console",
  (platform) => {
    const console = consoleBrowser(platform);
    const host = new URL(issuer).host;

    test("the page may call the issuer, and nobody else", async () => {
      const answer = await fetch(`${platform().baseUrl}/console`);
      expect(answer.headers.get("content-security-policy")).toContain(`; connect-src 'self' ${issuer}; base-uri`);
    });

    describe.skipIf(!hasBrowser || provider === undefined)("with an OpenID provider", () => {
      beforeAll(async () => {
        await platform().ok("CreateIdentityProvider", {
          parent: platform().root,
          identityProvider: {
            name: "login",
            defaultRole: builtInRoleUid("editor"),
            oidc: { issuer, clientId: "console", clientSecret: "s" },
          },
        });
      });

      const button = (page: Page) => page.getByRole("button", { name: `Sign in with ${host}` });

      /** Signs in with the pages of the provider. */
      async function signInAs(
        user: string,
        page: Page,
        shown = page.getByRole("button", { name: "Account" }),
      ): Promise<void> {
        await page.route(fonts, (route) => route.fulfill({ contentType: "text/css", body: "" }));
        await button(page).click();
        await page.getByPlaceholder("Enter any login").fill(user);
        await page.getByPlaceholder("and password").fill("any");
        await page.getByRole("button", { name: "Sign-in" }).click();
        await page.getByRole("button", { name: "Continue" }).click();
        await shown.waitFor();
      }

      async function signOut(page: Page): Promise<void> {
        await page.getByRole("button", { name: "Account" }).click();
        await page.getByRole("menuitem", { name: "Sign out" }).click();
        await button(page).waitFor();
      }

      /** What was complained about in the console, not in the pages of the provider. */
      const ownOf = (complaints: readonly string[]) =>
        complaints.filter((it) => !it.includes(issuer) && !fonts.test(it));

      test("the page of somebody who is not signed in", async () => {
        const { page, complaints } = await console.openSignedOut("");
        await button(page).waitFor();
        await lookAt(page, "sign-in");
        expect(complaints).toEqual([]);
        await page.context().close();
      });

      test("returns to the address, which is kept over a reload; no token is anywhere to be read", async () => {
        const { page, complaints } = await console.openSignedOut("/list/roles?order=name");
        const printed: string[] = [];
        page.on("console", (message) => printed.push(message.text()));
        const tokens: string[] = [];
        page.on("request", (request) => {
          const [, token] = /^Bearer (.+)$/.exec(request.headers().authorization ?? "") ?? [];
          if (token !== undefined) tokens.push(token);
        });
        await signInAs("alice", page);
        await page.getByRole("link", { name: "viewer", exact: true }).waitFor();
        expect(page.url()).toBe(`${platform().baseUrl}/console/list/roles?order=name`);
        await page.reload();
        await page.getByRole("link", { name: "viewer", exact: true }).waitFor();
        await page.getByRole("button", { name: "Account" }).click();
        await page.getByText("alice").waitFor();
        expect(await seriousFindings(page)).toEqual([]);
        await screenshot(page, "signed-in");
        expect(await seriousFindings(page)).toEqual([]);

        const kept = String(
          await page.evaluate(
            "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])",
          ),
        );
        const session = await sessionCookie(page);
        expect(session).toMatchObject({ name: "platform-session", httpOnly: true, sameSite: "Strict" });
        expect(new Set(tokens).size).toBe(2);
        for (const secret of [...tokens.map((token) => token.split(".")[2]!), session!.value]) {
          expect(kept).not.toContain(secret);
          expect(printed.join()).not.toContain(secret);
        }
        expect(kept).not.toMatch(/verifier|nonce|code=/i);
        expect(ownOf(complaints)).toEqual([]);
        await page.context().close();
      });

      test("two tabs renew their tokens one after the other", async () => {
        const { page: one } = await console.openSignedOut("/list/roles");
        await signInAs("bob", one);
        const two = await one.context().newPage();
        await two.goto(`${platform().baseUrl}/console/list/roles`);
        await two.getByRole("link", { name: "viewer", exact: true }).waitFor();

        const statuses: number[] = [];
        const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
        let renewing = 0;
        await one.context().route(renewals, async (route) => {
          renewing++;
          await isReleased;
          const answer = await route.fetch();
          statuses.push(answer.status());
          await route.fulfill({ response: answer });
        });
        for (const page of [one, two]) {
          await refuseOnce(page, "**/ListRoles");
          await page.getByRole("button", { name: /^Name/ }).click();
        }
        await one.waitForFunction("navigator.locks.query().then(({ held, pending }) => held.length && pending.length)");
        expect(renewing).toBe(1);
        release();
        for (const page of [one, two]) await page.waitForURL(/order=name/);
        await expect.poll(() => statuses).toEqual([200, 200]);
        for (const page of [one, two]) {
          await page.getByRole("link", { name: "viewer", exact: true }).waitFor();
          expect(await page.getByText("Your session has ended").count()).toBe(0);
        }
        await screenshot(two, "two-tabs");
        await one.context().close();
      });

      test("a token is renewed before it expires", async () => {
        const { page } = await console.openSignedOut("/list/roles");
        let first = "";
        await page.route("**/sts/exchange", async (route) => {
          const answer = await route.fetch();
          const { token, ...others } = await answer.json();
          first = endingIn(30, token);
          await route.fulfill({ response: answer, json: { ...others, token: first } });
        });
        const sent: (string | undefined)[] = [];
        page.on("request", (request) => {
          if (request.url().endsWith("/ListRoles")) sent.push(request.headers().authorization);
        });
        await signInAs("frank", page);
        await page.getByRole("link", { name: "viewer", exact: true }).waitFor();
        expect(first).not.toBe("");
        expect(sent.length).toBeGreaterThan(0);
        expect(sent).not.toContain(`Bearer ${first}`);
        await page.context().close();
      });

      test("signing out ends the session in every tab, and at the server", async () => {
        const { page: one } = await console.openSignedOut("");
        await signInAs("carol", one);
        const two = await one.context().newPage();
        await two.goto(`${platform().baseUrl}/console`);
        await two.getByRole("button", { name: "Account" }).waitFor();
        const session = await sessionCookie(one);
        await one.getByRole("button", { name: "Account" }).click();
        await one.getByRole("menuitem", { name: "Sign out" }).click();
        for (const page of [one, two]) await button(page).waitFor();
        expect(await sessionCookie(one)).toBeUndefined();
        const refresh = await fetch(`${platform().baseUrl}/sts/exchange_refresh_token`, {
          method: "POST",
          body: new URLSearchParams({ refresh_token: session!.value }),
        });
        expect(refresh.status).toBe(401);
        await one.reload();
        await button(one).waitFor();
        await screenshot(one, "signed-out");
        await one.context().close();
      });

      test("a session that has ended is begun again at the provider, and what was typed is restored", async () => {
        const { page } = await console.openSignedOut("/create/repos");
        await signInAs("erin", page);
        await page.getByRole("textbox", { name: "Name", exact: true }).fill("still-here");
        const { value } = (await sessionCookie(page))!;
        await fetch(`${platform().baseUrl}/sts/revoke`, {
          method: "POST",
          body: new URLSearchParams({ token: value }),
        });
        await refuseOnce(page, anyCall);
        await page.getByRole("combobox", { name: "Parent" }).fill("anything");
        await page.getByText("Your session has ended").waitFor();
        expect(await seriousFindings(page)).toEqual([]);
        await screenshot(page, "session-ended");
        await button(page).click();
        await page.getByRole("button", { name: "Continue" }).click(); // the provider knows erin
        await page.getByText("Restored what you typed").waitFor();
        expect(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("still-here");
        await page.context().close();
      });

      test("a link of an invite is still there after the sign-in, and in no address", async () => {
        const group = await makeGroup(platform(), platform().root);
        const { code } = await platform().ok("CreateGroupInvite", {
          parent: group.uid,
          groupInvite: { roleUid: builtInRoleUid("viewer"), ttl: "3600s" },
        });
        const { page } = await console.openSignedOut(`/accept#code=${encodeURIComponent(code)}`);
        const urls: string[] = [];
        page.on("request", (request) => urls.push(request.url()));
        await signInAs("frank", page);
        await page.getByText(`You join ${group.name} with the role viewer.`).waitFor();
        expect(page.url()).toBe(`${platform().baseUrl}/console/accept`);
        expect(urls.join()).not.toContain(encodeURIComponent(code));
        expect(await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")).not.toContain(code);
        await page.getByRole("button", { name: "Accept" }).click();
        await page.getByRole("status").getByText("with the role viewer").waitFor();
        await page.context().close();
      });

      test("a sign-in in another tab is one in this tab, too", async () => {
        const { page: one } = await console.openSignedOut("/list/roles");
        const two = await one.context().newPage();
        await two.goto(`${platform().baseUrl}/console`);
        await button(two).waitFor();
        await signInAs("dave", one);
        await two.getByRole("button", { name: "Account" }).waitFor();
        await one.context().close();
      });

      const bodiesOf = (page: Page) => {
        const bodies: URLSearchParams[] = [];
        page.on("request", (request) => {
          if (request.url().endsWith("/sts/exchange")) bodies.push(new URLSearchParams(request.postData() ?? ""));
        });
        return bodies;
      };
      const identityProvider = async () => {
        const { identityProviders } = await platform().read("ListIdentityProviders", { name: "login" });
        return identityProviders[0].uid as string;
      };

      test("who has to name an identity provider does so once", async () => {
        const uid = await identityProvider();
        const { page } = await console.openSignedOut("");
        const bodies = bodiesOf(page);
        const message = "Precondition failed: name an identity provider";
        const json = { code: 9, message, details: [] };
        await page.route("**/sts/exchange", (route) => route.fulfill({ status: 400, json }), { times: 1 });
        const input = page.getByLabel(`Identity provider for ${host}`);
        expect(await input.count()).toBe(0);
        await signInAs("grace", page, page.getByRole("alert"));
        await page.getByText(`${message}. Enter the identity provider of your organisation`).waitFor();
        expect(await seriousFindings(page)).toEqual([]);
        await screenshot(page, "name-a-provider");
        await input.fill("login");
        await button(page).click();
        await page.getByText("This is not a uid").waitFor();
        await input.fill(uid);
        const again = async () => {
          await button(page).click();
          await page.getByRole("button", { name: "Continue" }).click(); // the provider knows grace
          await signOut(page);
        };
        await again();
        expect(await input.inputValue()).toBe(uid);
        await page.reload();
        await again();
        expect(bodies.map((body) => body.get("identity_provider"))).toEqual([null, uid, uid]);
        await page.context().close();
      });

      test("the identity provider that the server names is named at once", async () => {
        const uid = await identityProvider();
        const { page } = await console.openSignedOut("");
        const bodies = bodiesOf(page);
        // The uid is known only now: the page reads what it would have been given with the next sign-in.
        const issuers = JSON.stringify([{ issuer, clientId: "console", provider: uid }]);
        await page.evaluate(
          `document.querySelector("meta[name=console-issuers]").content = ${JSON.stringify(issuers)}`,
        );
        await signIn(page, platform().admin);
        await signOut(page);
        await signInAs("olivia", page);
        expect(bodies.map((body) => body.get("identity_provider"))).toEqual([uid]);
        await page.context().close();
      });

      test.each([
        ["another state", (url: URL) => url.searchParams.set("state", "other"), /state/],
        ["another issuer", (url: URL) => url.searchParams.set("iss", "https://evil.example"), /iss/],
        ["a code that is not the provider's", () => {}, /invalid_grant/],
      ])("%s is refused", async (name, change, reason) => {
        const { page } = await console.openSignedOut("/tree");
        await button(page).click();
        await page.getByPlaceholder("Enter any login").waitFor();
        const begun = new URL(platform().baseUrl);
        await page.goto(`${begun.origin}/console/assets/none`); // the storage of the console
        const { state } = JSON.parse(String(await page.evaluate("sessionStorage['platform.sign-in']")));
        const returned = new URL("/console/signed-in", begun);
        for (const [key, value] of Object.entries({ code: "x", state, iss: issuer }))
          returned.searchParams.set(key, value);
        change(returned);
        await page.goto(returned.href);
        await page.getByRole("alert").getByText(reason).waitFor();
        await screenshot(page, `sign-in-refused-${name.replaceAll(/\W+/g, "-")}`);
        expect(page.url()).toBe(`${platform().baseUrl}/console/tree`);
        expect(await page.evaluate("sessionStorage.length")).toBe(0);
        await page.context().close();
      });

      test("a sign-in that was not started here, or that the user has cancelled, says so", async () => {
        const { page } = await console.openSignedOut("/signed-in?code=x&state=y");
        await page.getByText("This sign-in was not started in this tab").waitFor();
        await button(page).click();
        await page.getByRole("link", { name: "Cancel" }).click();
        await page.getByText(`Signing in with ${host} failed: End-User aborted interaction (access_denied)`).waitFor();
        expect(await seriousFindings(page)).toEqual([]);
        await page.context().close();
      });
    });
  },
  { allowLoopbackIssuers: true, consoleIssuers: [{ issuer, clientId: "console" }] },
);

const unreachable = {
  issuer: "http://127.0.0.1:1/tenant/",
  clientId: "console",
  provider: `${"0a".repeat(20)}/${"1b".repeat(8)}`,
};
onOneServer(
  "signing in with a provider that cannot be reached",
  (platform) => {
    const console = consoleBrowser(platform);
    test("the page has the identity provider to name", async () => {
      const page = await (await fetch(`${platform().baseUrl}/console`)).text();
      expect(page.replaceAll("&quot;", '"')).toContain(JSON.stringify([unreachable]));
    });

    test.skipIf(!hasBrowser)("says so, and takes a token", async () => {
      const { page } = await console.openSignedOut("");
      await page.getByRole("button", { name: "Sign in with 127.0.0.1:1/tenant" }).click();
      await page.getByText("it cannot be reached, or does not allow calls from this page").waitFor();
      await screenshot(page, "provider-unreachable");
      await signIn(page, platform().admin);
      await page.context().close();
    });
  },
  { consoleIssuers: [unreachable] },
);

/** The token with another life, in seconds. Its signature is not that of the claims any more. */
function endingIn(seconds: number, token: string): string {
  const [header, claims, signature] = token.split(".") as [string, string, string];
  const { iat, ...others } = JSON.parse(Buffer.from(claims, "base64url").toString());
  const changed = JSON.stringify({ ...others, iat, exp: iat + seconds });
  return [header, Buffer.from(changed).toString("base64url"), signature].join(".");
}

/** The cookie of the session. Cookies of the provider are sent to this host, too. */
async function sessionCookie(page: Page) {
  return (await page.context().cookies()).find(({ path }) => path === "/sts");
}

/** Answers the next call with UNAUTHENTICATED. */
async function refuseOnce(page: Page, url: string | RegExp): Promise<void> {
  const body = '{"code":"unauthenticated","message":"expired"}';
  await page.route(url, (route) => route.fulfill({ status: 401, contentType: "application/json", body }), { times: 1 });
}
