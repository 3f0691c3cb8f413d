/** How a call ended, in one form for every protocol, and what must hold of every error that the platform gives. */
import { type DescMethodUnary, fromBinary, toJson } from "@bufbuild/protobuf";
import { expect } from "vitest";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { domainOf, type Json } from "./contract.ts";

/** A google.rpc.Status in JSON. */
export interface Status {
  readonly code: number;
  readonly message: string;
  readonly details: readonly Json[];
}

/** An answer or an error. */
export type Outcome =
  | { readonly ok: true; readonly message: Json; readonly header: (name: string) => string | null }
  | { readonly ok: false; readonly status: Status; readonly header: (name: string) => string | null };

/** The codes of google.rpc.Code by name. */
export const codes = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type CodeName = keyof typeof codes;

/** The HTTP status of each code, as google/rpc/code.proto gives it. */
export const httpStatusOf: Readonly<Record<number, number>> = {
  1: 499,
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  8: 429,
  9: 400,
  10: 409,
  12: 501,
  13: 500,
  14: 503,
  16: 401,
};

const prefixes: Partial<Record<CodeName, string>> = {
  INVALID_ARGUMENT: "Invalid argument: ",
  FAILED_PRECONDITION: "Precondition failed: ",
  NOT_FOUND: "Not found: ",
  ALREADY_EXISTS: "Already exists: ",
  PERMISSION_DENIED: "Permission denied: ",
  UNAUTHENTICATED: "Unauthenticated: ",
  RESOURCE_EXHAUSTED: "Resource exhausted: ",
};

/** The typed detail that stands second. */
const typedDetails: Partial<Record<CodeName, string>> = {
  INVALID_ARGUMENT: "BadRequest",
  FAILED_PRECONDITION: "PreconditionFailure",
  NOT_FOUND: "ResourceInfo",
  ALREADY_EXISTS: "ResourceInfo",
};

/**
 * What every error promises: its code, its prefix, ErrorInfo first, then the typed detail of its code. What HTTP itself
 * refuses is about no field and no resource: it has no such detail.
 */
export function expectStatus(status: Status, code: CodeName, domain: string | undefined, hasDetail = true): void {
  expect(status.message, `code ${status.code}, expected ${code}`).toMatch(new RegExp(`^${prefixes[code] ?? "."}`));
  expect(status).toMatchObject({ code: codes[code] });
  expect(Object.keys(status).sort()).toEqual(["code", "details", "message"]);
  const { metadata = {}, ...info } = status.details[0] ?? {};
  expect(info).toEqual({
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: code,
    domain: domain === undefined ? "platform.internal" : `${domain}.platform.internal`,
  });
  for (const [name, value] of Object.entries(metadata)) {
    expect(name).toMatch(/^[a-z][a-zA-Z]+$/);
    expect(value).toEqual(expect.any(String));
  }
  const typed = typedDetails[code];
  if (typed !== undefined && domain !== undefined && hasDetail)
    expect(status.details[1]?.["@type"]).toBe(`type.googleapis.com/google.rpc.${typed}`);
  if (code === "INVALID_ARGUMENT" && domain !== undefined && hasDetail) {
    const sentences = violationsOf(status).map(({ field = "", description }: Json) =>
      field === "" ? description : `${field}: ${description}`,
    );
    expect(status.message).toBe(`Invalid argument: ${sentences.join("; ")}`);
  }
}

/** As {@link expectStatus}, with the domain that the method's package names. */
export function expectStatusOf(method: DescMethodUnary, status: Status, code: CodeName): void {
  expectStatus(status, code, domainOf(method));
}

/** The typed detail of a status, without its type. */
export function detailOf(status: Status): Json {
  const { "@type": _, ...detail } = status.details[1] ?? {};
  return detail;
}

/** Violations of a BadRequest or a PreconditionFailure. */
export function violationsOf(status: Status): Json[] {
  const { fieldViolations, violations } = detailOf(status);
  return fieldViolations ?? violations ?? [];
}

/** The fields that a BadRequest is about. */
export function fieldsOf(status: Status): string[] {
  return violationsOf(status).map(({ field = "" }) => field);
}

const detailSchemas = [
  ErrorInfoSchema,
  BadRequestSchema,
  PreconditionFailureSchema,
  ResourceInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
];

/** A packed detail as REST shows it. */
export function unpackDetail(typeName: string, value: Uint8Array): Json {
  const schema = detailSchemas.find((candidate) => candidate.typeName === typeName);
  if (schema === undefined) throw new Error(`an error carries a ${typeName}`);
  const detail = toJson(schema, fromBinary(schema, value)) as Json;
  if (schema === BadRequestSchema)
    detail.fieldViolations = detail.fieldViolations.map((violation: Json) => ({ field: "", ...violation }));
  return { "@type": `type.googleapis.com/${typeName}`, ...detail };
}
