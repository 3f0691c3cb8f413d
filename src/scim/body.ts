/** The bodies of requests. */
import { parseJson as checkJson, JsonSyntaxError } from "../codec/index.ts";
import type { IncomingBodies } from "../http/index.ts";
import { checkBodyHeaders, readBody } from "../message/index.ts";
import type { RunningCall } from "../pipeline/index.ts";
import { ScimError } from "./errors.ts";
import { limits } from "./limits.ts";
import type { ResourceType } from "./schemas.ts";

/** How to read a body. */
export interface BodyOptions {
  readonly bodies: IncomingBodies;
  readonly maxBodyBytes: number;
}

/** The JSON of a request whose sender is known. Errors: ScimError; Refusal for its length and its headers. */
export async function readJson(
  { request, response }: Pick<RunningCall, "request" | "response">,
  type: ResourceType | undefined,
  { bodies, maxBodyBytes }: BodyOptions,
): Promise<unknown> {
  const max = Math.min(maxBodyBytes, type?.id === "Group" ? limits.groupBytes : limits.userBytes);
  checkBodyHeaders(request, "raw", max);
  const bytes = await readBody(request, "raw", max, bodies.watch(request, response, "verified"));
  try {
    checkJson(bytes); // within the limits of depth and size that all JSON has
    return JSON.parse(Buffer.from(bytes).toString());
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new ScimError(400, `malformed JSON: ${error.message}`, "invalidSyntax");
    throw error;
  }
}
