import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import {
  createRegistry,
  fromBinary,
  getExtension,
  hasExtension,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { PingService } from "../../gen/platform/ping/v2/ping_pb.ts";
import { createLocalTransport } from "../../src/call/local-transport.ts";
import { createConnectHandler } from "../../src/rpc/connect/adapter.ts";
import { mountReflection } from "../../src/rpc/reflection.ts";
import { type OpenPort, openPort } from "../http/open-port.ts";

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;
type Answer = MessageShape<typeof ServerReflectionResponseSchema>["messageResponse"];

let port: OpenPort;

beforeAll(async () => {
  const handler = createConnectHandler({
    transport: createLocalTransport([], []),
    services: [PingService, Health],
    registry: createRegistry(),
    mount: (router) => mountReflection(router, [BadRequestSchema]),
    answerHeaders: () => ({}),
    refusalBody: () => "",
  });
  port = await openPort(false, {
    onRequest: (request, response) => void handler(request.url ?? "", request, response),
  });
});

afterAll(() => port.port.close({ graceMs: 0 }));

describe.each([ServerReflection, ServerReflectionV1Alpha as unknown as typeof ServerReflection])(
  "$typeName",
  (service) => {
    /** Asks all questions on one stream. */
    async function ask(...questions: Question[]): Promise<Answer[]> {
      const client = createClient(service, createGrpcTransport({ baseUrl: port.origin }));
      const answers: Answer[] = [];
      const requests = (async function* () {
        for (const messageRequest of questions) yield { host: "h", messageRequest };
      })();
      for await (const { validHost, originalRequest, messageResponse } of client.serverReflectionInfo(requests)) {
        expect(validHost).toBe("h");
        expect(originalRequest?.messageRequest).toMatchObject(questions[answers.length] ?? {});
        answers.push(messageResponse);
      }
      return answers;
    }

    function filesIn(answer: Answer | undefined): FileDescriptorProto[] {
      if (answer?.case !== "fileDescriptorResponse") throw new Error(`no files: ${JSON.stringify(answer)}`);
      return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    }

    it("lists the services, itself included", async () => {
      const [answer] = await ask({ case: "listServices", value: "*" });
      expect(answer).toMatchObject({
        case: "listServicesResponse",
        value: {
          service: [
            { name: "grpc.health.v1.Health" },
            { name: "grpc.reflection.v1.ServerReflection" },
            { name: "grpc.reflection.v1alpha.ServerReflection" },
            { name: "platform.ping.v2.PingService" },
          ],
        },
      });
    });

    it.each([
      ["grpc.health.v1.Health", "grpc/health/v1/health.proto"],
      ["grpc.health.v1.Health.Check", "grpc/health/v1/health.proto"],
      ["grpc.health.v1.HealthCheckRequest", "grpc/health/v1/health.proto"],
      ["grpc.health.v1.HealthCheckRequest.service", "grpc/health/v1/health.proto"],
      ["grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"],
      ["grpc.health.v1.HealthCheckResponse.SERVING", "grpc/health/v1/health.proto"],
      ["grpc.reflection.v1.ServerReflectionRequest.message_request", "grpc/reflection/v1/reflection.proto"],
      ["google.rpc.BadRequest.FieldViolation", "google/rpc/error_details.proto"],
      ["google.api.HttpRule", "google/api/http.proto"],
      ["google.api.http", "google/api/annotations.proto"],
    ])("finds the file that declares %s", async (symbol, path) => {
      const [answer] = await ask({ case: "fileContainingSymbol", value: symbol });
      expect(filesIn(answer)[0]?.name).toBe(path);
    });

    it("sends a file and its imports, unchanged, custom options included", async () => {
      const [answer] = await ask({ case: "fileByFilename", value: "platform/ping/v2/ping.proto" });
      const files = filesIn(answer);
      expect(files[0]?.name).toBe("platform/ping/v2/ping.proto");
      const names = new Set(files.map(({ name }) => name));
      expect(files.flatMap(({ dependency }) => dependency).filter((name) => !names.has(name))).toEqual([]);
      const options = files[0]?.service[0]?.method[0]?.options;
      expect(hasExtension(options!, http)).toBe(true);
      expect(getExtension(options!, http).pattern).toMatchObject({ case: "get", value: "/ping/v2/ping" });
    });

    it("does not repeat imports on one stream", async () => {
      const question: Question = { case: "fileContainingSymbol", value: "platform.ping.v2.PingService" };
      const [first, second] = await ask(question, question);
      expect(filesIn(first).length).toBeGreaterThan(3);
      expect(filesIn(second).map(({ name }) => name)).toEqual(["platform/ping/v2/ping.proto"]);
    });

    it("finds extensions", async () => {
      const containingType = "google.protobuf.MethodOptions";
      const [file, numbers, none] = await ask(
        { case: "fileContainingExtension", value: { containingType, extensionNumber: 72295728 } },
        { case: "allExtensionNumbersOfType", value: containingType },
        { case: "allExtensionNumbersOfType", value: "grpc.health.v1.HealthCheckRequest" },
      );
      expect(filesIn(file)[0]?.name).toBe("google/api/annotations.proto");
      expect(numbers).toMatchObject({ value: { baseTypeName: containingType } });
      expect(numbers?.case === "allExtensionNumbersResponse" && numbers.value.extensionNumber).toContain(72295728);
      expect(none).toMatchObject({ case: "allExtensionNumbersResponse", value: { extensionNumber: [] } });
    });

    it("answers errors and goes on", async () => {
      const answers = await ask(
        { case: "fileByFilename", value: "nope.proto" },
        { case: "fileContainingSymbol", value: "nope.Nope" },
        {
          case: "fileContainingExtension",
          value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 1 },
        },
        { case: "allExtensionNumbersOfType", value: "nope.Nope" },
        { case: undefined },
      );
      expect(answers.map((answer) => answer.case)).toEqual(Array(5).fill("errorResponse"));
      const codes = answers.map((answer) => answer.case === "errorResponse" && answer.value.errorCode);
      expect(codes).toEqual([Code.NotFound, Code.NotFound, Code.NotFound, Code.NotFound, Code.InvalidArgument]);
    });
  },
);

const buf = resolve("node_modules/.bin/buf");
const hasBuf = existsSync(buf);
if (!hasBuf) console.log(`skipping reflection with buf curl: ${buf} is not there`);

describe.runIf(hasBuf)("buf curl", () => {
  const run = (...args: string[]) => promisify(execFile)(buf, ["curl", "--http2-prior-knowledge", ...args]);

  it.each(["grpc-v1", "grpc-v1alpha"])("lists methods through %s", async (protocol) => {
    const { stdout } = await run("--protocol", "grpc", "--reflect-protocol", protocol, port.origin, "--list-methods");
    expect(stdout).toContain("platform.ping.v2.PingService/Ping");
    expect(stdout).toContain("grpc.health.v1.Health/Watch");
  });
});
