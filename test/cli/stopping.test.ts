/** How `platform serve` stops, as balancers and clients see it. */
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import { type PlatformProcess, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

/** A call on a connection of its own, which the client would keep. */
function ask(
  { baseUrl }: PlatformProcess,
  path: string,
  token?: string,
): Promise<{ status: number; connection: string | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = { agent: false, headers: { connection: "keep-alive", ...authorization } };
    request(`${baseUrl}${path}`, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece) => {
        text += piece;
      });
      answer.on("end", () => resolve({ status: answer.statusCode!, connection: answer.headers.connection, text }));
    })
      .on("error", reject)
      .end();
  });
}

/** Asks for liveness on a connection. Returns the header fields. */
async function askOn(socket: Socket): Promise<string> {
  let text = "";
  const take = (piece: Buffer) => {
    text += piece;
  };
  socket.on("data", take).write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
  await expect.poll(() => text).toContain('"ok"');
  socket.off("data", take);
  return text.toLowerCase();
}

test("it is unready at once, serves until the drain delay is over, and then each kept connection once more", async () => {
  const { database, serve } = settingsIn(await temporaryFolder());
  const server = await startPlatformForTest([...serve, "--drain-delay", "4s"]);
  const token = (await runHere(["token", ...database])).stdout.trim();
  const repos = grpcRepos(new URL(server.baseUrl).host, token);
  expect((await ask(server, "/readyz")).connection).toBe("keep-alive");
  await repos.call("ListRepos", {});
  const { hostname, port } = new URL(server.baseUrl);
  const kept = connect(Number(port), hostname);
  expect(await askOn(kept)).toContain("connection: keep-alive");
  const ended = server.end("SIGINT");
  await expect.poll(() => ask(server, "/readyz")).toMatchObject({ status: 503, text: '{"status":"stopping"}' });
  expect(await ask(server, "/iam/v2/groups", token)).toMatchObject({ status: 200, connection: "keep-alive" });
  await repos.call("ListRepos", {});
  await expect.poll(() => ask(server, "/livez").catch(({ code }) => code), { interval: 50 }).toBe("ECONNREFUSED");
  expect(await askOn(kept)).toContain("connection: close");
  expect(await ended).toBe(0);
  repos.close();
});

test("whoever has asked for readiness is given time to ask again; a second signal ends it at once", async () => {
  const { serve } = settingsIn(await temporaryFolder());
  const server = await startPlatformForTest(serve, { env: { PLATFORM_DRAIN_DELAY: "auto" } });
  expect((await ask(server, "/readyz")).status).toBe(200);
  server.signal("SIGTERM");
  await expect.poll(() => ask(server, "/readyz")).toMatchObject({ status: 503 });
  await expect.poll(() => server.stderr()).toContain('"msg":"stopping"');
  await new Promise((resolve) => setTimeout(resolve, 1100)); // two signals within a second count as one
  expect(await server.end("SIGTERM")).toBe(130);
});
