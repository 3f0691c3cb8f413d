/** Every protocol reads the answer of an overloaded server as UNAVAILABLE. */
import { describe, expect, onTestFinished, test } from "vitest";
import { readApi } from "../../../src/app/api.ts";
import { createOverload, overloadAnswer } from "../../../src/app/start/overload.ts";
import { readConfig } from "../../../src/config/index.ts";
import { createLogger } from "../../../src/log.ts";
import { callOverConnect, connectTransports } from "../../conformance/connect-client.ts";
import { methodNamed } from "../../conformance/contract.ts";
import { callOverGrpc, connectGrpc } from "../../conformance/grpc-client.ts";
import { openPort } from "../../http/open-port.ts";

test("a line is logged now and then, with the number of refusals since the last one", () => {
  const lines: Record<string, unknown>[] = [];
  const overload = createOverload(
    createLogger("info", { stream: { write: (line: string) => void lines.push(JSON.parse(line)) } }),
  );
  for (let i = 0; i < 3; i++) overload.report("max-calls");
  overload.report("max-queue-delay");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ limit: "max-calls", refused: 1, msg: "overloaded" });
  expect(Object.fromEntries(overload.refused)).toEqual({ "max-calls": 3, "max-queue-delay": 1 });
});

describe.each([true, false])("the answer of an overloaded server, with the fast path: %s", (fastPath) => {
  const list = methodNamed("ListRepos");
  const headers = { authorization: "Bearer x", "x-request-id": "mine" };

  async function openOverloaded(): Promise<string> {
    const refuse = overloadAnswer(readApi(readConfig({ flags: {}, env: {}, warn: expect.fail })), "example.com");
    const { port, origin } = await openPort(false, {
      onRequest: refuse,
      ...(fastPath ? { onBufferedRequest: refuse, planFastPath: () => refuse } : { http2: "node" }),
    });
    onTestFinished(() => port.close({ graceMs: 0 }));
    return origin;
  }

  test("over REST has a body, an id, and when to try again", async () => {
    const answer = await fetch(`${await openOverloaded()}/registry/v2/repos`, { headers });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.get("x-request-id")).toBe("mine");
    expect(await answer.json()).toMatchObject({
      code: 14,
      message: "Unavailable: the server is overloaded; try again",
      details: [{ reason: "UNAVAILABLE", domain: "example.com" }, { retryDelay: "1s" }],
    });
  });

  test("is UNAVAILABLE to clients of gRPC", async () => {
    const client = connectGrpc(await openOverloaded());
    onTestFinished(() => client.close());
    const outcome = await callOverGrpc(client, list, {}, headers);
    expect(outcome).toMatchObject({ ok: false, status: { code: 14, message: expect.stringContaining("overloaded") } });
  });

  test.each(Object.keys(connectTransports) as (keyof typeof connectTransports)[])(
    "is UNAVAILABLE to clients of %s",
    async (name) => {
      const transport = connectTransports[name](await openOverloaded());
      const outcome = await callOverConnect(transport, list, {}, headers);
      expect(outcome).toMatchObject({
        ok: false,
        status: { code: 14, message: expect.stringContaining("overloaded") },
      });
    },
  );
});
