/**
 * The SCIM 2.0 service provider (RFC 7643, RFC 7644): a provisioning client, with the token of an identity provider,
 * keeps the users and groups of its organisation. `routes.ts` has its paths.
 */
import { bearerIn } from "../auth/index.ts";
import type { Endpoint } from "../http/index.ts";
import { headerOf, type PortRequest } from "../message/index.ts";
import type { EndpointCaller, EndpointCalls, RunningCall } from "../pipeline/index.ts";
import { findProvisioningProvider } from "../services/index.ts";
import { errorAnswer, ScimError } from "./errors.ts";
import { isId } from "./narrowing.ts";
import { type RequestOptions, ScimRequest } from "./request.ts";
import { routeOf } from "./routes.ts";

/** Whom the requests of provisioning clients count against, by their `Authorization`. */
export interface ScimPayers {
  /** Called for each request with a token: it is that of a provider, or of none. */
  learn(authorization: string, provider: string | undefined): void;
  payerOf(authorization: string | undefined): RunningCall["payer"];
}

/** What {@link createScim} needs. */
export interface ScimOptions extends Omit<RequestOptions, "base"> {
  readonly calls: EndpointCalls;
  /** Where clients reach the server. */
  readonly baseUrl: string;
  readonly payers: ScimPayers;
}

/** Where the endpoint is. */
export const scimPath = "/scim/v2";

/** The endpoint of everything below {@link scimPath}. */
export function createScim({ calls, payers, baseUrl, ...parts }: ScimOptions): Endpoint {
  const options: RequestOptions = { ...parts, base: `${baseUrl}${scimPath}` };

  /** Errors: ScimError 401 without the token of a provider. */
  async function callerOf(request: PortRequest, id: string): Promise<EndpointCaller> {
    const header = headerOf(request, "authorization");
    const token = header === undefined ? undefined : bearerIn(header);
    const found =
      token === undefined ? undefined : await findProvisioningProvider(options.database.read, token, options.now());
    if (header !== undefined) payers.learn(header, found?.isExpired === false ? found.provider : undefined);
    if (found === undefined) throw unknownToken();
    const { provider, isEnabled, isExpired } = found;
    const off = new ScimError(403, "provisioning is turned off for this identity provider");
    const denial = isExpired ? unknownToken() : isEnabled ? undefined : off;
    return { caller: provider, scope: provider, resource: isId(id) ? `${provider}/${id}` : "", denial };
  }

  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://scim");
    const { name, rateClass, id, answer } = routeOf(request.method ?? "", pathname.slice(scimPath.length + 1));
    calls.serve(request, response, {
      method: name,
      rateClass,
      payer: ({ headers }) => payers.payerOf(headers.authorization),
      refuse: errorAnswer,
      async work(running) {
        running.identify(await callerOf(request, id));
        return answer(new ScimRequest(id, searchParams, running, options));
      },
    });
    return true;
  };
}

function unknownToken(): ScimError {
  return new ScimError(401, "a token for provisioning is needed", undefined, { "www-authenticate": "Bearer" });
}
