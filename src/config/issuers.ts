/** OpenID issuers and their clients in settings. */

/** An OpenID provider that people sign in with, and the client of the platform there. */
export interface ConsoleIssuer {
  readonly issuer: string;
  readonly clientId: string;
  /** uid of the identity provider to name; absent: the one that somebody has named in the browser, if any. */
  readonly provider?: string;
}

/** A client of an issuer that one identity provider has for itself. */
export interface ReservedClient {
  readonly issuer: string;
  readonly clientId: string;
  /** uid of the identity provider. */
  readonly provider: string;
}

const item = /^(?<issuer>https?:\/\/[^\s=?#]+)=(?<clientId>[!-~]+?)(?:=(?<provider>[0-9a-f]{40}\/[0-9a-f]{16}))?$/;

/** Parses `https://login.example.com=CLIENT_ID,…`, each with `=PROVIDER_UID` or without. */
export function parseConsoleIssuers(value: string): readonly ConsoleIssuer[] {
  return parseClients(value, "URL=CLIENT_ID or URL=CLIENT_ID=PROVIDER_UID");
}
parseConsoleIssuers.schema = {
  type: "string",
  pattern: "^(?:\\s*https?://[^\\s=?#,]+=[!-+\\-./-~]+\\s*(?:,|$))*$",
};

/** Parses `https://login.example.com=CLIENT_ID=PROVIDER_UID,…`. */
export function parseReservedClients(value: string): readonly ReservedClient[] {
  const form = "URL=CLIENT_ID=PROVIDER_UID";
  const seen = new Set<string>();
  return parseClients(value, form).map(({ issuer, clientId, provider }) => {
    if (provider === undefined) throw mustBe(form);
    const pair = `${issuer}=${clientId}`; // no issuer has an equals sign
    if (seen.has(pair)) throw new Error(`reserves ${pair} twice`);
    seen.add(pair);
    return { issuer, clientId, provider };
  });
}
parseReservedClients.schema = {
  type: "string",
  pattern: "^(?:\\s*https?://[^\\s=?#,]+=[!-+\\-./-~]+=[0-9a-f]{40}/[0-9a-f]{16}\\s*(?:,|$))*$",
};

/** The clients in a list. An issuer at a loopback host may use http. */
function parseClients(value: string, form: string): ConsoleIssuer[] {
  return value
    .split(",")
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .map((text) => {
      const { issuer = "", clientId = "", provider } = item.exec(text)?.groups ?? {};
      const url = URL.parse(issuer);
      const isLoopback = url?.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
      if (url === null || url.username !== "" || !(url.protocol === "https:" || isLoopback)) throw mustBe(form);
      return { issuer, clientId, ...(provider !== undefined && { provider }) };
    });
}

function mustBe(form: string): Error {
  return new Error(`must be a list of ${form}, where URL is an https URL without query`);
}
