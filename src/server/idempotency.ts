/**
 * Idempotency keys: a create that a client repeats with the same `Idempotency-Key` happens once (AIP-155; draft-ietf-httpapi-idempotency-key-header).
 * The name is the same as an HTTP header, as gRPC metadata and in Connect.
 *
 * - For 24 hours the answer of the first call that succeeded is given again, whatever has become of the resource since. A call that failed has
 *   changed nothing and is not remembered.
 * - The answer is stored in the transaction of the change. Of calls that come at once one happens, the others find its answer.
 * - A key belongs to the caller. With another method or another content it is INVALID_ARGUMENT: fields are compared, not bytes.
 * - Authentication, authorization and value rules are applied to every call; only what would happen then does not happen again. Where a method
 *   decides by itself who may call it, an answer is given again to whoever could still make what it says.
 * - Answers may hold secrets that are shown once, so all of them are sealed.
 *
 * Keys are heeded by methods that make something, `Create…`, `BatchCreate…` and `Accept…`; elsewhere repetition does no harm. `validate_only`
 * changes nothing and so neither needs nor uses a key.
 */
import { createHash } from "node:crypto";
import { fromBinary, type JsonValue, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import type { UnaryRequest, UnaryResponse } from "@connectrpc/connect";
import { callerOf, requireCapabilities } from "../auth/index.ts";
import type { MethodContract } from "../contract/index.ts";
import { invalid } from "../errors.ts";
import type { Secrets } from "../resource/index.ts";
import type { TableSpec, WriteSession } from "../store/index.ts";

/** A call that happens once for its key. */
export interface KeyedCall {
  /** The answer that the key has already, if any. Errors: INVALID_ARGUMENT when it was another call's. */
  replay(session: WriteSession): Promise<UnaryResponse | undefined>;
  /** Keeps the answer. */
  remember(session: WriteSession, response: UnaryResponse): Promise<void>;
}

/** Sealed answers; the uid of one is a digest of its caller and key. */
export const idempotentAnswers: TableSpec = { name: "idempotent_answers", facets: { expire_us: "integer" } };

const headerName = "idempotency-key";
const lifeMs = 24 * 3_600_000;

interface StoredAnswer {
  readonly request: string;
  readonly headers: readonly (readonly [string, string])[];
  /** The encoded message, in base64. */
  readonly message: string;
}

/** The call as its key makes it; undefined where there is no key to heed. Errors: INVALID_ARGUMENT when the key is malformed. */
export function keyedCall(
  request: UnaryRequest,
  { authorization }: MethodContract,
  secrets: Secrets,
  nowMs: number,
): KeyedCall | undefined {
  const { method, message } = request;
  if (!/^(?:Batch)?Create|^Accept/.test(method.name)) return undefined;
  const key = request.header.get(headerName);
  if (key === null || (message as Message & { validateOnly?: boolean }).validateOnly === true) return undefined;
  if (!/^[!-~]{1,255}$/.test(key))
    throw invalid({ field: headerName, description: "must be 1 to 255 visible ASCII characters" });
  const context = { values: request.contextValues };
  const { subject } = callerOf(context);
  const uid = digestOf(subject, key);
  const fingerprint = digestOf(`${method.parent.typeName}/${method.name}`, canonical(toJson(method.input, message)));

  return {
    async replay(session) {
      const row = await session.get(idempotentAnswers, uid);
      if (row === undefined) return undefined;
      const opened =
        Number(row.facets.expire_us) > nowMs * 1000
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
        requireCapabilities(context, (answer as Message & { uid: string }).uid, ...authorization.capabilities);
      return {
        stream: false,
        service: request.service,
        method,
        header: new Headers(stored.headers.map(([name, value]): [string, string] => [name, value])),
        trailer: new Headers(),
        message: answer,
      };
    },

    async remember(session, response) {
      const stored: StoredAnswer = {
        request: fingerprint,
        headers: [...response.header],
        message: Buffer.from(toBinary(method.output, response.message)).toString("base64"),
      };
      await session.insert(idempotentAnswers, {
        uid,
        parent: "",
        createTimeUs: nowMs * 1000,
        updateTimeUs: nowMs * 1000,
        body: Buffer.from(secrets.seal(JSON.stringify(stored), uid), "latin1"),
        facets: { expire_us: (nowMs + lifeMs) * 1000 },
      });
    },
  };
}

function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}

/** JSON text with the members of every object in the order of their names: maps come in any order. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}
