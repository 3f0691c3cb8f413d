/** Tokens that CI systems and clusters give to what they run. */
import { existsSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { isSendable, PlatformError, reasonOf, type TokenSource } from "../client/index.ts";
import { fileToken } from "./file-token.ts";

/** Where the token of a workload comes from. */
export interface CiToken extends TokenSource {
  /** `GitHub Actions`, `GitLab CI/CD`, `Kubernetes`. */
  readonly system: string;
}

/** The environment has no token; the message says how to provide one. */
export class CiTokenError extends Error {}

/** The file of the token cannot be read. */
export class CiTokenFileError extends CiTokenError {}

/** The file of a projected service account token; `PLATFORM_ID_TOKEN_FILE` names another. */
const projectedTokenFile = "/var/run/secrets/platform/token";
const timeoutMs = 30_000;

/**
 * The token of the workload that this process belongs to:
 *
 *     GitHub Actions   asks for one, in jobs with `permissions: id-token: write`
 *     GitLab CI/CD     the variable PLATFORM_ID_TOKEN, of `id_tokens:` in the job
 *     Kubernetes       a projected service account token, in PLATFORM_ID_TOKEN_FILE or /var/run/secrets/platform/token
 *
 * @param audience what GitHub writes into the token; for the others, the job or the volume sets it.
 * Errors: CiTokenError at once if there is none, and by a call if its file cannot be read or GitHub refuses one;
 * PlatformError with UNAVAILABLE if GitHub cannot be reached.
 */
export function ciToken(audience: string, env: Readonly<Record<string, string | undefined>> = process.env): CiToken {
  const { PLATFORM_ID_TOKEN: variable, PLATFORM_ID_TOKEN_FILE: file } = env;
  if (variable) return { system: "GitLab CI/CD", token: async () => variable, refused: () => false };
  if (file || existsSync(projectedTokenFile)) return projectedToken(file || projectedTokenFile);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env;
  if (url && bearer)
    return { system: "GitHub Actions", token: () => requestGitHubToken(url, bearer, audience), refused: () => false };
  if (env.GITHUB_ACTIONS === "true")
    throw new CiTokenError("the job has no OpenID token; give it `permissions: id-token: write`");
  if (env.GITLAB_CI === "true")
    throw new CiTokenError("the job has no OpenID token; give it `id_tokens: PLATFORM_ID_TOKEN: aud: …`");
  throw new CiTokenError(
    `there is no token of a CI system: neither PLATFORM_ID_TOKEN nor ACTIONS_ID_TOKEN_REQUEST_URL is set, and there is no file ${projectedTokenFile} (PLATFORM_ID_TOKEN_FILE)`,
  );
}

function projectedToken(file: string): CiToken {
  const source = fileToken(file);
  return {
    ...source,
    system: "Kubernetes",
    token: (request) =>
      source.token(request).catch((error: Error) => {
        throw new CiTokenFileError(`cannot read the token of the pod (PLATFORM_ID_TOKEN_FILE): ${error.message}`);
      }),
  };
}

async function requestGitHubToken(url: string, bearer: string, audience: string): Promise<string> {
  const target = URL.parse(url);
  if (target === null) throw new CiTokenError("ACTIONS_ID_TOKEN_REQUEST_URL is not a URL");
  if (!isSendable(bearer)) throw new CiTokenError("ACTIONS_ID_TOKEN_REQUEST_TOKEN is not a token");
  target.searchParams.set("audience", audience);
  let response: Response;
  let text: string;
  try {
    response = await fetch(target, {
      headers: { authorization: `Bearer ${bearer}`, accept: "application/json" },
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    text = await response.text();
  } catch (error) {
    throw unavailable(`cannot reach ${target.origin}: ${reasonOf(error as Error)}`);
  }
  const { status, ok } = response;
  if (status === 429 || status >= 500) throw unavailable(`${target.origin} answered HTTP ${status}`);
  if (!ok) throw new CiTokenError(`GitHub gave no token: ${target.origin} answered HTTP ${status}`);
  const value = tokenIn(text);
  if (value === undefined) throw new CiTokenError("GitHub gave no token: its answer has no value");
  return value;
}

function unavailable(reason: string): PlatformError {
  return new PlatformError(`GitHub gave no token: ${reason}`, Code.Unavailable);
}

function tokenIn(text: string): string | undefined {
  try {
    const { value } = Object(JSON.parse(text));
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
