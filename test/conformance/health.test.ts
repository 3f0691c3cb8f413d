/** grpc.health.v1 and gRPC reflection, as their own clients see them. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { credentials, loadPackageDefinition, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect, test } from "vitest";
import { allMethods, type Json } from "./contract.ts";
import { protoFolders } from "./grpc-client.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const definition = loadPackageDefinition(
  loadSync(
    ["grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto", "grpc/reflection/v1alpha/reflection.proto"],
    {
      includeDirs: protoFolders(),
      enums: String,
      defaults: true,
      oneofs: true,
      bytes: Buffer,
    },
  ),
) as Json;

const services = [...new Set([...allMethods.values()].map(({ parent }) => parent.typeName))];

function clientOf(platform: Platform, Service: Json): Json {
  return new Service(new URL(platform.baseUrl).host, credentials.createInsecure());
}

/** The answer to a request whose target is sent as it is written. */
async function send(baseUrl: string, method: string, path: string): Promise<IncomingMessage> {
  const headers = { "content-type": "application/json" };
  const sent = request(baseUrl, { method, path, headers }).end(method === "POST" ? "{}" : undefined);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response.resume();
}

onEveryServer("health", (platform) => {
  const check = (service: string) =>
    new Promise<{ error: ServiceError | null; answer: Json }>((resolve) => {
      const client = clientOf(platform(), definition.grpc.health.v1.Health);
      client.check({ service }, (error: ServiceError | null, answer: Json) => {
        client.close();
        resolve({ error, answer });
      });
    });

  test("the server and each of its services are serving", async () => {
    for (const service of ["", ...services])
      expect((await check(service)).answer, service).toEqual({ status: "SERVING" });
  });

  test("targets in absolute form, as clients send them to proxies, are answered as those in origin form", async () => {
    const { baseUrl } = platform();
    for (const [method, path] of [
      ["GET", "/livez"],
      ["GET", "/readyz"],
      ["GET", "/openapi.json"],
      ["GET", "/docs"],
      ["GET", "/console"],
      ["GET", "/.well-known/openid-configuration"],
      ["GET", "/scim/v2/ServiceProviderConfig"],
      ["GET", "/no/such/path"],
      ["POST", "/platform.ping.v2.PingService/Ping"],
    ] as const) {
      const [origin, absolute] = await Promise.all(
        [path, `http://platform.example.com${path}`].map(async (target) => {
          const { statusCode, headers } = await send(baseUrl, method, target);
          return [statusCode, headers["content-type"]];
        }),
      );
      expect(absolute, path).toEqual(origin);
    }
  });

  test("a service that is not there is not found", async () => {
    expect((await check("platform.nope.v2.NopeService")).error?.code).toBe(5);
  });

  test("a watcher is told at once", async () => {
    const client = clientOf(platform(), definition.grpc.health.v1.Health);
    for (const [service, status] of [
      ["", "SERVING"],
      ["platform.nope.v2.NopeService", "SERVICE_UNKNOWN"],
    ]) {
      const stream = client.watch({ service });
      const first = await new Promise<Json>((resolve, reject) => {
        stream.on("data", resolve);
        stream.on("error", reject);
      });
      expect(first).toEqual({ status });
      stream.removeAllListeners("error");
      stream.on("error", () => {});
      stream.cancel();
    }
    client.close();
  });
});

onEveryServer(
  "connections that a balancer keeps for long",
  (platform) => {
    test("are kept for longer, as their answers say", async () => {
      const { headers } = await send(platform().baseUrl, "GET", "/livez");
      expect([headers.connection, headers["keep-alive"]]).toEqual(["keep-alive", "timeout=620"]);
    });
  },
  { keepAliveTimeout: 620_000 },
);

onEveryServer("reflection", (platform) => {
  const ask = (version: "v1" | "v1alpha", request: Json) =>
    new Promise<Json>((resolve, reject) => {
      const client = clientOf(platform(), definition.grpc.reflection[version].ServerReflection);
      const stream = client.serverReflectionInfo();
      stream.on("data", (answer: Json) => {
        resolve(answer);
        stream.end();
      });
      stream.on("error", reject);
      stream.on("end", () => client.close());
      stream.write(request);
    });

  test.each(["v1", "v1alpha"] as const)("%s lists every service", async (version) => {
    const { listServicesResponse } = await ask(version, { listServices: "" });
    const names = listServicesResponse.service.map(({ name }: Json) => name);
    for (const service of [...services, "grpc.health.v1.Health"]) expect(names).toContain(service);
  });

  test("a service's file comes with what it imports", async () => {
    for (const fileContainingSymbol of [
      "platform.registry.v2.ReposService",
      "platform.iam.v2.Identity",
      "google.rpc.ErrorInfo",
    ]) {
      const { fileDescriptorResponse } = await ask("v1", { fileContainingSymbol });
      expect(fileDescriptorResponse.fileDescriptorProto.length, fileContainingSymbol).toBeGreaterThan(0);
    }
    const { errorResponse } = await ask("v1", { fileContainingSymbol: "platform.Nope" });
    expect(errorResponse.errorCode).toBe(5);
  });
});
