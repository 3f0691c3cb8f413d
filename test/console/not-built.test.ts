/** The page of a console that has not been built. */
import { expect, test } from "vitest";
import { consolePage } from "../../src/pages/console.ts";

test("it says how to build it, and allows no style of scripts", async () => {
  const { body, policy } = await consolePage("Platform API", undefined, [])();
  expect(body).toContain("<code>npm run prepare</code>");
  expect(policy).toContain("style-src 'self';");
});
