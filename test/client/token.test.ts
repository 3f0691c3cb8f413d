/** Tokens that cannot be sent. */
import { describe, expect, test } from "vitest";
import {
  Code,
  createPlatformClient,
  exchangedToken,
  PlatformError,
  type TokenSource,
} from "../../src/client/package.ts";
import { grpc } from "../../src/client-node/package.ts";
import { startForeign } from "../remote/stub-server.ts";

/** Nothing answers here: a call that is sent is UNAVAILABLE. */
const server = "http://127.0.0.1:9";

/** Everything that an error may be printed with. */
function textOf(error: unknown): string {
  const texts: string[] = [];
  for (let it = error; it instanceof Error; it = it.cause) texts.push(String(it), it.stack ?? "", JSON.stringify(it));
  return texts.join("\n");
}

async function failureOf(token: string | TokenSource, transport?: typeof grpc): Promise<PlatformError> {
  const client = createPlatformClient({ server, token, retry: false, ...(transport && { transport }) });
  return client.repos.get("x").then(
    () => expect.unreachable(),
    (error: PlatformError) => error,
  );
}

describe.each([
  ["Connect", undefined],
  ["gRPC", grpc],
])("over %s", (_, transport) => {
  test.each(["secret\nvalue", "secret value", "secret\0", "sécret", "secret\u2028value", ""])(
    "%j is not sent, and no error has it",
    async (token) => {
      for (const source of [token, { token: async () => token }]) {
        const error = await failureOf(source, transport);
        expect(error).toBeInstanceOf(PlatformError);
        expect(error.code).toBe(Code.Unauthenticated);
        expect(textOf(error)).not.toMatch(/s[eé]cret/);
      }
    },
  );
});

test("a token of a token service is not sent either", async () => {
  const foreign = await startForeign(
    200,
    "application/json",
    JSON.stringify({ token: "secret\nvalue", expiry: "2099-01-01T00:00:00Z" }),
  );
  try {
    const error = await failureOf(exchangedToken({ server: foreign.url, subject: "subject" }));
    expect(error.code).toBe(Code.Unauthenticated);
    expect(textOf(error)).not.toContain("secret");
  } finally {
    foreign.stop();
  }
});

test("blanks around a token are left out", async () => {
  expect((await failureOf(" token\r\n")).code).toBe(Code.Unavailable);
});
