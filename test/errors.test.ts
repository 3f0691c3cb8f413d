import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  aborted,
  alreadyExists,
  completeError,
  deadlineExceeded,
  failedPrecondition,
  internal,
  invalid,
  notFound,
  permissionDenied,
  reasonOf,
  resourceExhausted,
  unauthenticated,
  unavailable,
  undecided,
  unimplemented,
} from "../src/errors.ts";

const repo = { type: "registry.platform.internal/Repo", uid: "a/b" };

/** The details of an error: type and fields. */
function detailsOf(error: ConnectError) {
  return error.details.map((detail) => {
    if (!("desc" in detail)) throw new Error("not made here");
    const { $typeName, ...fields } = detail.value as Message;
    return [detail.desc.name, fields];
  });
}

describe("code, prefix and typed detail", () => {
  const nameRule = { field: "name", description: "must be short" };
  const wholeRule = { field: "", description: "needs one of a and b" };
  test.each<[ConnectError, Code, string, unknown[]]>([
    [
      invalid([nameRule, wholeRule]),
      Code.InvalidArgument,
      "Invalid argument: name: must be short; needs one of a and b",
      [["BadRequest", { fieldViolations: [expect.objectContaining(nameRule), expect.objectContaining(wholeRule)] }]],
    ],
    [
      notFound(repo),
      Code.NotFound,
      'Not found: Repo "a/b" does not exist',
      [["ResourceInfo", expect.objectContaining({ resourceType: repo.type, resourceName: "a/b" })]],
    ],
    [
      alreadyExists(repo, 'name "nginx"'),
      Code.AlreadyExists,
      'Already exists: Repo with name "nginx" exists',
      [["ResourceInfo", expect.objectContaining({ resourceType: repo.type, resourceName: "a/b" })]],
    ],
    [
      failedPrecondition([
        { type: "RESOURCE_NOT_EMPTY", subject: "a", description: "has repos" },
        { type: "X", description: "y" },
      ]),
      Code.FailedPrecondition,
      "Precondition failed: has repos; y",
      [
        [
          "PreconditionFailure",
          {
            violations: [
              expect.objectContaining({ type: "RESOURCE_NOT_EMPTY", subject: "a", description: "has repos" }),
              expect.objectContaining({ type: "X", subject: "", description: "y" }),
            ],
          },
        ],
      ],
    ],
    [permissionDenied("no"), Code.PermissionDenied, "Permission denied: no", []],
    [unauthenticated("no"), Code.Unauthenticated, "Unauthenticated: no", []],
    [aborted("again"), Code.Aborted, "Aborted: again", []],
    [unimplemented("later"), Code.Unimplemented, "Unimplemented: later", []],
    [
      unavailable("later"),
      Code.Unavailable,
      "Unavailable: later",
      [["RetryInfo", { retryDelay: expect.objectContaining({ seconds: 1n, nanos: 0 }) }]],
    ],
    [undecided("look"), Code.Unknown, "Unknown: look", []],
    [deadlineExceeded("late"), Code.DeadlineExceeded, "Deadline exceeded: late", []],
    [
      resourceExhausted("identity:x", "too many", 1500),
      Code.ResourceExhausted,
      "Resource exhausted: too many",
      [
        ["QuotaFailure", { violations: [expect.objectContaining({ subject: "identity:x", description: "too many" })] }],
        ["RetryInfo", { retryDelay: expect.objectContaining({ seconds: 1n, nanos: 500_000_000 }) }],
      ],
    ],
    [
      resourceExhausted("identity:x", "too many"),
      Code.ResourceExhausted,
      "Resource exhausted: too many",
      [["QuotaFailure", expect.anything()]],
    ],
    [internal(new Error("select * from secrets")), Code.Internal, "Internal error", []],
  ])("%s", (error, code, message, details) => {
    expect([error.code, error.rawMessage]).toEqual([code, message]);
    expect(detailsOf(error)).toEqual(details);
  });
});

test("when to try again is also a header, in whole seconds", () => {
  const headers = [unavailable("later"), resourceExhausted("x", "too many", 1500), resourceExhausted("x", "too many")];
  expect(headers.map(({ metadata }) => metadata.get("retry-after"))).toEqual(["1", "2", null]);
});

describe("completeError", () => {
  test.each([
    ["platform.internal", "iam", "iam.platform.internal"],
    ["platform.example.com", "registry", "registry.platform.example.com"],
    ["platform.example.com", undefined, "platform.example.com"],
  ])("ErrorInfo comes first and names the domain: %s, %s", (host, domain, expected) => {
    const error = completeError(invalid({ field: "name", description: "x" }), host, domain);
    expect(detailsOf(error).map(([name]) => name)).toEqual(["ErrorInfo", "BadRequest"]);
    expect(detailsOf(error)[0]).toEqual(["ErrorInfo", { reason: "INVALID_ARGUMENT", domain: expected, metadata: {} }]);
  });

  test("ErrorInfo is added once, however often an error is completed", () => {
    const error = completeError(completeError(notFound(repo), "host", "iam"), "host", "registry");
    expect(detailsOf(error).map(([name]) => name)).toEqual(["ErrorInfo", "ResourceInfo"]);
    expect(detailsOf(error)[0]?.[1]).toMatchObject({ domain: "iam.host" });
  });

  test("ErrorInfo is added to an error of another origin", () => {
    const error = completeError(new ConnectError("odd", Code.DataLoss), "host", undefined);
    expect(detailsOf(error)).toEqual([["ErrorInfo", expect.objectContaining({ reason: "DATA_LOSS", domain: "host" })]]);
  });

  test.each([
    ["registry.platform.internal/Repo", "platform.example.com", "registry.platform.example.com/Repo"],
    ["iam.platform.internal/Group", "platform.internal", "iam.platform.internal/Group"],
    ["iam.platform.internal/Group", "$&.example", "iam.$&.example/Group"],
    ["grpc.health.v1/Service", "platform.example.com", "grpc.health.v1/Service"],
  ])("a resource type gets the host in use: %s at %s", (type, host, expected) => {
    const error = completeError(notFound({ type, uid: "a" }), host, "iam");
    expect(detailsOf(error)[1]?.[1]).toMatchObject({ resourceType: expected });
  });
});

test.each([
  [Code.Canceled, "CANCELLED"],
  [Code.InvalidArgument, "INVALID_ARGUMENT"],
  [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Code.NotFound, "NOT_FOUND"],
  [Code.Internal, "INTERNAL"],
])("code %i is %s", (code, reason) => {
  expect(reasonOf(code)).toBe(reason);
});
