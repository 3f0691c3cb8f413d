/** Errors that only REST has: paths, verbs, bodies. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { RuleId } from "./rules.ts";
import { freshName } from "./server/uids.ts";
import type { Target } from "./target.ts";

/** Checks requests that are none of a method. */
export async function checkHttpErrors(target: Target, group: string): Promise<void> {
  if (!target.hasRest) return;
  const repos = `/registry/v2/repos/${group}`;
  const get = { verb: "GET", target: "/registry/v2/nothing", body: undefined };
  await check(target, "errors/unknown-path", get, 404, 5);
  const wrong = await check(
    target,
    "errors/wrong-verb",
    { ...get, verb: "PUT", target: "/registry/v2/repos" },
    405,
    12,
  );
  target.results.compare("errors/wrong-verb", "PUT", wrong.headers.get("allow") !== null, true);
  const post = { verb: "POST", target: repos };
  await check(target, "errors/malformed-body", { ...post, body: "{" }, 400, 3);
  const body = JSON.stringify({ name: freshName(), nothing: 1 });
  const unknown = await check(target, "errors/unknown-field", { ...post, body }, 400, 3);
  target.results.compare("errors/unknown-field", "POST", JSON.stringify(unknown.status).includes("nothing"), true);
}

async function check(
  target: Target,
  rule: RuleId,
  request: { readonly verb: string; readonly target: string; readonly body: string | undefined },
  httpStatus: number,
  code: number,
): Promise<{ readonly headers: Headers; readonly status: JsonObject }> {
  const response = await target.caller.fetch(request, { authorization: `Bearer ${target.token}` });
  const type = response.headers.get("content-type")?.split(";")[0];
  target.results.compare("answers/content-type", request.verb, type, "application/json");
  const status = (await response.json().catch(() => ({}))) as JsonObject;
  const actual = { httpStatus: response.status, code: status.code, hasDetails: Array.isArray(status.details) };
  target.results.compare(rule, request.verb, actual, { httpStatus, code, hasDetails: true });
  if (response.ok && request.verb === "POST") target.addCreated("CreateRepo", status);
  return { headers: response.headers, status };
}
