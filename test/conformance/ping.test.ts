/** Ping: open to everyone, the same over every protocol and every dialect of it. */
import { expect, test } from "vitest";
import { connectTransports } from "./connect-client.ts";
import { onEveryServer, type Protocol } from "./platform.ts";

onEveryServer("ping", (platform) => {
  test("answers without a token", async () => {
    expect(await platform().read("Ping", {}, { as: null })).toEqual({ response: "pong" });
  });

  test("does not look at a token", async () => {
    expect(await platform().read("Ping", {}, { as: "not.a.token" })).toEqual({ response: "pong" });
  });

  test.each(Object.keys(connectTransports) as Protocol[])("answers over %s", async (over) => {
    expect(await platform().ok("Ping", {}, { as: null, over })).toEqual({ response: "pong" });
  });

  test("refuses parameters it does not have, and bodies", async () => {
    expect((await platform().fetch("/ping/v2/ping?page_size=1")).status).toBe(400);
    expect((await platform().fetch("/ping/v2beta1/ping")).status).toBe(404);
    expect((await platform().fetch("/ping/v1/ping")).status).toBe(404);
  });
});
