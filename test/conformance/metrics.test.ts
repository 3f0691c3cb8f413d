/** What a scrape shows of calls that were made, on every database. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { type LiveServer, onEveryServer } from "./live-server.ts";

onEveryServer("metrics", { adminListen: "127.0.0.1:0" }, (server) => {
  test("count calls by method, protocol and code, whatever they come by", async () => {
    const { baseUrl } = server().running;
    const before = await scrape(server());
    expect((await server().call("GET", "/registry/v2/repos")).status).toBe(200);
    expect((await server().call("GET", "/registry/v2/repos", undefined, null)).status).toBe(401);
    const options = { baseUrl, httpVersion: "2" } as const;
    for (const transport of [
      createGrpcTransport(options),
      createConnectTransport(options),
      createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
    ]) {
      const error = await createClient(ReposService, transport)
        .getRepo({ uid: `${server().root}/0123456789abcdef` })
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConnectError);
      expect((error as ConnectError).code).toBe(Code.Unauthenticated);
    }
    const after = await scrape(server());
    const grown = (name: string, labels: Readonly<Record<string, string>>) =>
      sum(after, name, labels) - sum(before, name, labels);
    const list = "platform.registry.v2.ReposService/ListRepos";
    const get = "platform.registry.v2.ReposService/GetRepo";
    const calls = (method: string, protocol: string, code: string) =>
      grown("platform_calls_total", {
        rpc_method: method,
        rpc_system_name: protocol,
        rpc_response_status_code: code,
      });
    expect(calls(list, "rest", "OK")).toBe(1);
    expect(calls(list, "rest", "UNAUTHENTICATED")).toBe(1);
    for (const protocol of ["grpc", "connect", "grpc-web"]) expect(calls(get, protocol, "UNAUTHENTICATED")).toBe(1);
    expect(grown("rpc_server_call_duration_seconds_count", { rpc_method: list })).toBe(2);
    expect(grown("rpc_server_call_duration_seconds_bucket", { rpc_method: get, le: "+Inf" })).toBe(3);
    expect(sum(after, "platform_calls_active", {})).toBe(0);
    expect(grown("platform_network_io_bytes_total", { network_io_direction: "receive" })).toBeGreaterThan(500);
    expect(sum(after, "platform_connections", {})).toBeGreaterThan(0);
  });

  test("count exchanges of tokens, with their deadlines", async () => {
    const exchange = async (parameters: Record<string, string>, headers: Record<string, string> = {}) => {
      const url = `${server().running.baseUrl}/sts/exchange`;
      return (await fetch(url, { method: "POST", headers, body: new URLSearchParams(parameters) })).status;
    };
    const before = await scrape(server());
    const subject = { subject_token: server().admin };
    expect(await exchange(subject)).toBe(200);
    expect(await exchange({ ...subject, grant_type: "password" })).toBe(400);
    expect(await exchange(subject, { "x-server-timeout": "0" })).toBe(504);
    const after = await scrape(server());
    const calls = (code: string) => {
      const labels = { rpc_method: "sts/exchange", rpc_system_name: "sts", rpc_response_status_code: code };
      return sum(after, "platform_calls_total", labels) - sum(before, "platform_calls_total", labels);
    };
    expect(["OK", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"].map(calls)).toEqual([1, 1, 1]);
  });

  test("count transactions and what the database does", async () => {
    const before = await scrape(server());
    for (let i = 0; i < 3; i++) await server().group();
    const after = await scrape(server());
    const grown = (name: string, labels = {}) => sum(after, name, labels) - sum(before, name, labels);
    expect(grown("platform_database_transactions_total")).toBeGreaterThanOrEqual(3);
    expect(grown("platform_database_commits_total")).toBeGreaterThanOrEqual(1);
    const duration = "db_client_operation_duration_seconds_count";
    expect(grown(duration, { db_operation_name: "transaction" })).toBeGreaterThanOrEqual(3);
    await server().call("GET", "/iam/v2/groups");
    expect(sum(await scrape(server()), duration, { db_operation_name: "read" })).toBeGreaterThan(0);
    expect(sum(after, "platform_database_up", {})).toBe(1);
    const ofEngine = server().isSqlite ? "platform_database_log_size_bytes" : "db_client_connection_max";
    expect(sum(after, ofEngine, {})).toBeGreaterThan(0);
  });
});

async function scrape({ running }: LiveServer): Promise<string> {
  return (await fetch(`http://127.0.0.1:${running.adminPort}/metrics`)).text();
}

/** The sum of the series of a metric that have these labels. */
function sum(text: string, name: string, labels: Readonly<Record<string, string>>): number {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
}
