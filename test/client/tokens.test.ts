/** Sources of tokens, against real servers. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createPlatformClient, exchangedToken, type PlatformError } from "../../src/client/package.ts";
import { writeProfile } from "../../src/client-node/index.ts";
import { profileServer, profileToken } from "../../src/client-node/package.ts";
import { startWithFolder } from "../remote/server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
beforeAll(async () => {
  server = await startWithFolder();
});
afterAll(() => server.stop());

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as PlatformError,
  );

/** A server of the test. Returns its URL. */
async function serve(listener: RequestListener): Promise<string> {
  const other = createServer(listener);
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close().closeAllConnections());
  return `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
}

describe("the tokens of a profile", () => {
  beforeAll(() => {
    vi.stubEnv("XDG_CONFIG_HOME", join(server.folder, "profiles"));
    return () => vi.unstubAllEnvs();
  });

  test("are sent to its server", async () => {
    await writeProfile("own", { server: server.server, token: server.token });
    expect(await profileServer("own")).toBe(server.server);
    for (const url of [await profileServer("own"), `${server.server}/`]) {
      const client = createPlatformClient({ server: url, token: profileToken("own") });
      expect((await client.repos.list().page()).totalCount).toBe(0n);
    }
  });

  test.each([false, true])("are not sent to another one, exchanged: %s", async (isExchanged) => {
    await writeProfile("default", { server: server.server, token: "secret", refreshToken: "secret" });
    const received: IncomingHttpHeaders[] = [];
    const other = await serve(({ headers }, response) => {
      received.push(headers);
      response.end("{}");
    });
    const token = isExchanged ? exchangedToken({ server: other, subject: profileToken() }) : profileToken();
    expect(await failureOf(createPlatformClient({ server: other, token }).ping.ping({}))).toMatchObject({
      rawMessage: `profile default is of ${server.server}; its tokens are not sent to ${other}`,
    });
    expect(received).toEqual([]);
  });
});
