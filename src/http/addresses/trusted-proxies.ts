/**
 * Proxies whose word about their clients is taken: in one header field, of which each proxy writes the right end
 * (`X-Forwarded-For`, or `Forwarded` of RFC 7239), or by the PROXY protocol.
 */
import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP } from "node:net";
import { canonicalAddress, familyOf } from "./networks.ts";

/** The settings of a port about the proxies before it. */
export interface ProxySettings {
  /** Their networks: `10.0.0.0/8`, `2001:db8::/32`, or single addresses. */
  readonly networks: readonly string[];
  /** The field that they write. */
  readonly header: "x-forwarded-for" | "forwarded";
  /** Whether each connection of theirs begins with a header of the PROXY protocol. The field is then ignored. */
  readonly proxyProtocol: boolean;
}

/** The proxies before a port. */
export class TrustedProxies {
  readonly #networks = new BlockList();
  readonly #header: ProxySettings["header"];
  readonly usesProxyProtocol: boolean;

  constructor({ networks, header, proxyProtocol }: ProxySettings) {
    for (const network of networks) {
      const [address = "", bits] = network.split("/");
      if (bits === undefined) this.#networks.addAddress(address, familyOf(address));
      else this.#networks.addSubnet(address, Number(bits), familyOf(address));
    }
    this.#header = header;
    this.usesProxyProtocol = proxyProtocol;
  }

  includes(address: string): boolean {
    return this.#networks.check(address, familyOf(address));
  }

  /**
   * The client of a request that came from a proxy: the right-most address that is not a proxy's. Without one it is the
   * last address that a proxy named, or the proxy itself.
   */
  clientOf(headers: IncomingHttpHeaders, proxy: string): string {
    const given = headers[this.#header];
    let client = proxy;
    for (const element of fromRight(String(given ?? ""))) {
      const address = addressIn(this.#header === "forwarded" ? nodeOf(element) : element.trim());
      if (address === undefined) break;
      client = address;
      if (!this.includes(address)) break;
    }
    return client;
  }
}

/**
 * The elements of a list, the last first. What the proxies wrote is well-formed, whatever is left of it: so quotes are
 * paired from the right.
 */
function* fromRight(list: string): Generator<string> {
  let end = list.length;
  let isQuoted = false;
  for (let at = list.length - 1; at >= 0; at--) {
    if (list[at] === '"' && !isEscaped(list, at)) isQuoted = !isQuoted;
    else if (list[at] === "," && !isQuoted) {
      yield list.slice(at + 1, end);
      end = at;
    }
  }
  yield list.slice(0, end);
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

const parameter = /\s*([!#$%&'*+.^`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s";,]+)\s*(?:;|$)/y;

/** The one `for` of an element of `Forwarded`; "" if it has none, or is malformed. */
function nodeOf(element: string): string {
  let node = "";
  for (parameter.lastIndex = 0; parameter.lastIndex < element.length; ) {
    const [, name = "", value = ""] = parameter.exec(element) ?? [];
    if (name === "") return "";
    if (name.toLowerCase() !== "for") continue;
    if (node !== "") return "";
    node = value.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1");
  }
  return node;
}

/** The address of a node, which may have a port; undefined for `unknown` and names. */
function addressIn(node: string): string | undefined {
  const [, inBrackets, v4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(node) ?? [];
  const address = inBrackets ?? v4 ?? node;
  return isIP(address) === 0 || address.includes("%") ? undefined : canonicalAddress(address);
}
