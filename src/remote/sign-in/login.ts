/** `platform login`: signs in at a server, and keeps the tokens in a profile. */
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { Code } from "@connectrpc/connect";
import { Command, InvalidArgumentError, Option } from "commander";
import { type ExchangeRequest, exchangeToken, isSendable, PlatformError, revokeToken } from "../../client/index.ts";
import {
  CiTokenError,
  CiTokenFileError,
  ciToken,
  lockProfile,
  type Profile,
  type SignInProvider,
  writeProfile,
} from "../../client-node/index.ts";
import { CommandFailure, wholeNumber } from "../../command/index.ts";
import { isUid } from "../../uid.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { callMethod } from "../session/call.ts";
import { type ChosenProfile, openSession, withChosenProfile, withProfile } from "../session/session.ts";
import { audiencesOf, expiryOf, identityProviderOf, issuerOf } from "./claims.ts";
import type { SignInOptions } from "./provider.ts";
import { remainingTime } from "./remaining-time.ts";

interface LoginOptions {
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
  readonly device?: true;
  readonly browser: boolean;
  readonly redirectPort: number;
  readonly ci?: true;
  readonly audience?: string;
  readonly withToken?: true;
  readonly identity?: string;
  readonly identityProvider?: string;
}

const browserTimeoutMs = 5 * 60_000;
const requestTimeoutMs = 30_000;
const maxTokenLength = 8192;
/** The exit statuses for a token that a server does not exchange. */
const refusals: ReadonlyMap<Code, number> = new Map([
  [Code.Unauthenticated, 4],
  [Code.PermissionDenied, 4],
  [Code.FailedPrecondition, 5],
]);

export function makeCommand(): Command {
  const command = withProfile(new Command("login"))
    .option("--issuer <URL>", "OpenID provider of your organisation (default: that of the last sign-in)")
    .option("--client-id <ID>", "client of the platform at the provider (default: that of the last sign-in)")
    .addOption(
      new Option("--client-secret <SECRET>", "for providers that give one to programs, too").env(
        "PLATFORM_CLIENT_SECRET",
      ),
    )
    .option("--scope <SCOPES>", "what to ask the provider for (default: openid email profile)")
    .option("--device", "sign in with a browser on another machine")
    .option("--no-browser", "print the address of the page instead of opening it")
    .option("--redirect-port <PORT>", "port on 127.0.0.1 for the browser; 0 for any", wholeNumber(0, 65_535), 0)
    .addOption(
      new Option("--ci", "use the token of the CI job or of the Kubernetes pod").conflicts([
        "issuer",
        "device",
        "withToken",
      ]),
    )
    .option("--audience <AUDIENCE>", "with --ci on GitHub: what the token is for (default: the server's URL)")
    .addOption(new Option("--with-token", "read a token from standard input").conflicts(["issuer", "device"]))
    .option("--identity <UID>", "identity to act as, if the token matches several", requireUid)
    .option(
      "--identity-provider <UID>",
      "identity provider of your organisation at the server (default: that of the last sign-in)",
      requireUid,
    );
  return command.action(() => withChosenProfile(command.opts(), (chosen) => login(command.opts(), chosen)));
}

/** Names cannot be looked up before the sign-in. Errors: InvalidArgumentError. */
function requireUid(text: string): string {
  if (!isUid(text)) throw new InvalidArgumentError("It must be a uid.");
  return text;
}

async function login(options: LoginOptions, { server, name, profile }: ChosenProfile): Promise<void> {
  const provider = providerOf(options, profile?.provider);
  const token = await externalToken(options, provider, server);
  const { identity, identityProvider = identity === undefined ? provider?.identityProvider : undefined } = options;
  const session = await exchanged(server, token, { identity, identityProvider });
  const known = identityProviderOf(session.token) ?? identityProvider ?? provider?.identityProvider;
  const release = await lockProfile(name);
  try {
    await writeProfile(name, {
      server,
      ...session,
      ...(provider && { provider: { ...provider, identityProvider: known } }),
    });
  } finally {
    await release();
  }
  // Nobody can use the session before any more.
  if (profile?.refreshToken !== undefined) await revokeToken({ server }, profile.refreshToken).catch(() => {});
  const { expireTimeMs, refreshToken } = session;
  const until = expireTimeMs === undefined ? "" : `, for ${remainingTime(expireTimeMs)}`;
  console.log(`Signed in to ${server}${refreshToken === undefined ? until : ""}. Profile: ${name}`);
}

/** The provider to sign in with, as it is remembered; undefined for a token from elsewhere. */
function providerOf(
  { issuer, clientId, scope, ci, withToken }: LoginOptions,
  last: SignInProvider | undefined,
): SignInProvider | undefined {
  if (ci || withToken) return undefined;
  const isLast = issuer === undefined || issuer === last?.issuer;
  const provider = { issuer: issuer ?? last?.issuer, clientId: clientId ?? (isLast ? last?.clientId : undefined) };
  if (provider.issuer === undefined || provider.clientId === undefined)
    throw new CommandFailure(
      [
        "--issuer and --client-id name the OpenID provider of your organisation; an administrator knows them",
        "hint: --with-token takes a token, and --ci that of a CI job",
      ],
      2,
    );
  const { issuer: url, clientId: id } = provider as { issuer: string; clientId: string };
  const isSame = url === last?.issuer && id === last.clientId;
  return {
    issuer: url,
    clientId: id,
    scope: scope ?? (isLast ? last?.scope : undefined) ?? "openid email profile",
    ...(isSame && last.identityProvider !== undefined && { identityProvider: last.identityProvider }),
  };
}

async function externalToken(
  options: LoginOptions,
  provider: SignInProvider | undefined,
  server: string,
): Promise<string> {
  if (provider !== undefined) {
    const { signInWithBrowser, signInWithDevice } = await import("./provider.ts");
    const how: SignInOptions = {
      ...provider,
      clientSecret: options.clientSecret,
      redirectPort: options.redirectPort,
      opensBrowser: options.browser,
      timeoutMs: browserTimeoutMs,
      tell: (line) => console.error(line),
    };
    return options.device ? signInWithDevice(how) : signInWithBrowser(how);
  }
  const token = options.ci ? await tokenOfJob(server, options.audience) : await readToken();
  if (!isSendable(token) || token.length > maxTokenLength)
    throw new CommandFailure(`a token has from 1 to ${maxTokenLength} characters of ASCII, without blanks`, 2);
  return token;
}

async function tokenOfJob(server: string, audience = server): Promise<string> {
  try {
    const source = ciToken(audience);
    const token = (await source.token({ server })) ?? "";
    console.error(`Using the token of ${source.system}`);
    return token;
  } catch (error) {
    if (!(error instanceof CiTokenError)) throw error;
    throw new CommandFailure(error.message, error instanceof CiTokenFileError ? 2 : 4);
  }
}

/** Reads a token from standard input; on a terminal without showing it. */
async function readToken(): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return (await text(stdin)).trim();
  process.stderr.write("Paste the token: ");
  const terminal = createInterface({ input: stdin, terminal: true });
  try {
    return (await terminal.question("")).trim();
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
}

/**
 * A token of the platform; the token itself where the server exchanges none. Errors: PlatformError; CommandFailure if
 * the server does not accept it, or is none of this API.
 */
async function exchanged(
  server: string,
  token: string,
  request: ExchangeRequest,
): Promise<Pick<Profile, "token" | "expireTimeMs" | "refreshToken">> {
  try {
    return await exchangeToken({ server }, token, request);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.code === Code.Unimplemented) {
      await tryToken(server, token);
      return { token, expireTimeMs: expiryOf(token) };
    }
    const status = refusals.get(error.code);
    if (status === undefined) throw error;
    const issuer = issuerOf(token);
    throw new CommandFailure(
      [
        `${server} does not accept the token${issuer === undefined ? "" : ` of ${issuer}`}: ` +
          (error.tokenFault ?? error.rawMessage),
        `hint: ${hintOf(error, token, request)}`,
        ...(error.requestId === undefined ? [] : [`request id: ${error.requestId}`]),
      ],
      status,
    );
  }
}

/** Calls a method that everybody may call who has a token. Errors: those of calls. */
async function tryToken(server: string, token: string): Promise<void> {
  const method = contractRegistry().getService("platform.iam.v2.GroupsService")!.method.listGroups!;
  await callMethod(await openSession({ server, token }, requestTimeoutMs), method, { pageSize: 1 });
}

function hintOf(
  { code, tokenFault = "" }: PlatformError,
  token: string,
  { identity, identityProvider }: ExchangeRequest,
): string {
  if (code === Code.FailedPrecondition)
    return (
      "--identity-provider UID names the identity provider of your organisation, and --identity UID an identity; an " +
      "owner of your organisation finds them by `platform list identity-providers`. The profile remembers the provider"
    );
  if (tokenFault.includes("audience"))
    return (
      `the token is for ${audiencesOf(token).join(", ")}; the server expects its own URL, unless the identity names ` +
      "audiences; on GitHub, --audience chooses that of the token"
    );
  if (tokenFault !== "") return "get another token";
  if (code === Code.PermissionDenied && identity === undefined && identityProvider !== undefined)
    return `the identity provider ${identityProvider} does not let this user in; --identity-provider UID names another`;
  return "an identity or an identity provider there must name its issuer, and its subject or client";
}
