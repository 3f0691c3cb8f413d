/**
 * Idempotency keys: a create call that a client repeats with the same `Idempotency-Key` takes effect once (AIP-155;
 * draft-ietf-httpapi-idempotency-key-header). The name is the same as an HTTP header, as gRPC metadata and in Connect.
 *
 * - For 24 hours the response of the first successful call is returned again, even if the resource has changed since. A
 *   failed call has changed nothing and stores nothing.
 * - The response is stored in the transaction of the change. Of concurrent calls with one key, one takes effect and the
 *   others get its response.
 * - A key belongs to its caller. With another method or other field values it is INVALID_ARGUMENT.
 * - Every call is authenticated, authorized and validated; only the method does not run again. Where the method itself
 *   decides who may call it, the caller must still have its capabilities on the created resource.
 * - Responses may hold secrets that are shown once, so all of them are sealed.
 *
 * Keys apply to methods that create: `Create…`, `BatchCreate…` and `Accept…`. Other methods may be repeated safely. A
 * call with `validate_only` changes nothing and ignores its key.
 */
import { createHash } from "node:crypto";
import { fromBinary, type JsonValue, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import type { UnaryRequest } from "@connectrpc/connect";
import { callerOf, requireCapabilities } from "../auth/index.ts";
import type { UnaryCallResponse } from "../call/index.ts";
import { wholeMessage } from "../codec/index.ts";
import type { MethodContract } from "../contract/index.ts";
import { invalid } from "../errors.ts";
import type { Secrets } from "../resource/index.ts";
import type { TableSpec, WriteSession } from "../store/index.ts";
import { textOf } from "./audit-failures.ts";
import { nameOf } from "./method-name.ts";

/** A call that takes effect once for its key. */
export interface KeyedCall {
  /** The stored response of the key, if any. Errors: INVALID_ARGUMENT if the key was used for another request. */
  replay(session: WriteSession): Promise<UnaryCallResponse | undefined>;
  /** Stores the response. */
  store(session: WriteSession, response: UnaryCallResponse): Promise<void>;
}

/** Sealed responses. The uid of a row is a digest of the caller and the key. */
export const idempotentAnswers: TableSpec = { name: "idempotent_answers", columns: { expire_us: "integer" } };

const headerName = "idempotency-key";
const lifeMs = 24 * 3_600_000;

interface StoredAnswer {
  readonly request: string;
  readonly headers: readonly (readonly [string, string])[];
  /** The encoded message, in base64. */
  readonly message: string;
}

/**
 * The call of a request with a key; undefined where no key applies. Errors: INVALID_ARGUMENT if the key is malformed.
 */
export function keyedCall(
  request: UnaryRequest,
  { authorization, isIdempotent }: MethodContract,
  secrets: Secrets,
  nowMs: number,
): KeyedCall | undefined {
  const { method, message } = request;
  if (isIdempotent) return undefined;
  const key = request.header.get(headerName);
  if (key === null || (message as Message & { validateOnly?: boolean }).validateOnly === true) return undefined;
  if (!/^[!-~]{1,255}$/.test(key))
    throw invalid({ field: headerName, description: "must be 1 to 255 visible ASCII characters" });
  const context = { values: request.contextValues };
  const uid = digestOf(callerOf(context).key, key);
  const fingerprint = digestOf(nameOf(method), canonical(toJson(method.input, message)));

  return {
    async replay(session) {
      const row = await session.get(idempotentAnswers, uid);
      if (row === undefined) return undefined;
      const opened =
        Number(row.columns.expire_us) > nowMs * 1000
          ? secrets.open(Buffer.from(row.body).toString("latin1"), uid)
          : undefined;
      if (opened === undefined) {
        await session.remove(idempotentAnswers, uid);
        return undefined;
      }
      const stored: StoredAnswer = JSON.parse(opened);
      if (stored.request !== fingerprint)
        throw invalid({ field: headerName, description: "has been used for another request" });
      const answer = fromBinary(method.output, Buffer.from(stored.message, "base64"));
      if (authorization.kind === "unscoped" && authorization.capabilities.length > 0)
        requireCapabilities(context, textOf(answer, "uid", "id"), ...authorization.capabilities);
      return {
        stream: false,
        service: request.service,
        method,
        header: new Headers(stored.headers.map(([name, value]): [string, string] => [name, value])),
        trailer: new Headers(),
        message: answer,
      };
    },

    async store(session, response) {
      const stored: StoredAnswer = {
        request: fingerprint,
        headers: [...response.header],
        message: Buffer.from(toBinary(method.output, wholeMessage(response.message))).toString("base64"),
      };
      await session.insert(idempotentAnswers, {
        uid,
        parent: "",
        createTimeUs: nowMs * 1000,
        updateTimeUs: nowMs * 1000,
        body: Buffer.from(secrets.seal(JSON.stringify(stored), uid), "latin1"),
        columns: { expire_us: (nowMs + lifeMs) * 1000 },
      });
    },
  };
}

function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}

/** JSON text with the members of objects sorted by name: maps have no order. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}
