import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { httpStatusOf } from "../../src/message/index.ts";
import { formatStatus, writeStatus } from "../../src/rest/index.ts";
import { http1Client, http2Client } from "../http/clients.ts";
import { registry } from "./fixture.ts";

const error = new ConnectError('Resource exhausted: "headers"', Code.ResourceExhausted, { "retry-after": "7" }, [
  { desc: ErrorInfoSchema, value: { reason: "RESOURCE_EXHAUSTED", domain: "example.com" } },
]);
const status = {
  code: 8,
  message: 'Resource exhausted: "headers"',
  details: [
    { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "RESOURCE_EXHAUSTED", domain: "example.com" },
  ],
};

test("the text of a status", () => {
  expect(JSON.parse(formatStatus(error, registry))).toEqual(status);
});

test("a code that is none is an internal error", () => {
  expect(httpStatusOf(99 as Code)).toBe(500);
});

test.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
] as const)("a host answers its own refusals by %s", async (_, createClient) => {
  const client = await createClient((__, response) => writeStatus(response, error, { registry, httpStatus: 431 }));
  const { status: httpStatus, headers, json } = await client.call("/anything");
  expect([httpStatus, headers["retry-after"], headers["content-type"], json]).toEqual([
    431,
    "7",
    "application/json",
    status,
  ]);
  client.close();
});

test("as AIP-193 shows them", async () => {
  const client = await http1Client((_, response) => writeStatus(response, error, { registry, errors: "aip-193" }));
  const { status: httpStatus, json } = await client.call("/anything");
  expect([httpStatus, json]).toEqual([429, { error: { ...status, code: 429, status: "RESOURCE_EXHAUSTED" } }]);
  client.close();
});
