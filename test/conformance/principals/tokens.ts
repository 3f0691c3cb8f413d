/** The keys that all worlds share, their issuers, and the tokens that these sign. */
import { generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** The issuers of a world. */
export const issuers = ["one", "two"] as const;
export type IssuerName = (typeof issuers)[number];

/** The keys. The issuers publish the first ones; organisations have any of them as static keys. */
export const keyNames = ["published", "spare", "first", "second", "third", "long"] as const;
export type KeyName = (typeof keyNames)[number];

/** The keys that an issuer publishes. A token of issuer `one` must name its key. */
export const publishedKeys: Readonly<Record<IssuerName, readonly KeyName[]>> = {
  one: ["published", "spare"],
  two: ["published"],
};

export const subjects = ["ci", "jane"] as const;
export type Subject = (typeof subjects)[number];

/** Client ids of identity providers; `platform` stands for the platform itself. */
export const audiences = ["platform", "web", "cli"] as const;
export type Audience = (typeof audiences)[number];

/** A token of an issuer. */
export interface TokenSpec {
  readonly issuer: IssuerName;
  readonly subject: Subject;
  readonly key: KeyName;
  readonly namesKey: boolean;
  readonly audiences: readonly Audience[];
  readonly groups: readonly string[];
  readonly repo: string;
  readonly hasEmail: boolean;
}

interface KeyPair {
  readonly privateKey: KeyObject;
  readonly jwk: JsonWebKey & { readonly alg: string };
}

const pairs = new Map(keyNames.map((name): [KeyName, KeyPair] => [name, generate(name)]));

function generate(name: KeyName): KeyPair {
  const namedCurve = name === "long" ? "P-384" : "P-256";
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve });
  return { privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid: name, alg: algorithmOf(name), use: "sig" } };
}

/** The algorithm of a key. */
export function algorithmOf(key: KeyName): "ES256" | "ES384" {
  return key === "long" ? "ES384" : "ES256";
}

/** A JSON Web Key Set, as text. */
export function keySetOf(names: readonly KeyName[]): string {
  return JSON.stringify({ keys: names.map((name) => pairs.get(name)!.jwk) });
}

/** Whether exactly one key of a set fits a token, and that is the one that signed it. */
export function verifies(set: readonly KeyName[], { key, namesKey }: TokenSpec): boolean {
  const fitting = set.filter((name) => (namesKey ? name === key : algorithmOf(name) === algorithmOf(key)));
  return fitting.length === 1 && fitting[0] === key;
}

/** The issuers of one world, at an origin of its own. */
export class Issuers {
  readonly #server: Server;
  readonly #world: string;

  private constructor(server: Server, world: string) {
    this.#server = server;
    this.#world = world;
  }

  static async start(world: string): Promise<Issuers> {
    const server = createServer((request, response) => {
      const [, issuer = ""] = /^\/[^/]+\/([^/]+)\//.exec(request.url!) ?? [];
      const known = issuers.find((name) => name === issuer);
      if (known === undefined) return void response.writeHead(404).end();
      const url = started.url(known);
      const discovery = JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` });
      response.setHeader("content-type", "application/json");
      response.end(request.url!.endsWith("/keys") ? keySetOf(publishedKeys[known]) : discovery);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const started = new Issuers(server, world);
    return started;
  }

  get #origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  url(issuer: IssuerName): string {
    return `${this.#origin}/${this.#world}/${issuer}`;
  }

  /** A pattern that matches all issuers of this world. */
  get pattern(): string {
    return `${this.#origin.replaceAll(".", "\\.")}/${this.#world}/(one|two)`;
  }

  /** Signs a token that is valid for `seconds` from `nowMs` on. */
  token(spec: TokenSpec, platform: string, nowMs: number, seconds: number): string {
    const iat = Math.floor(nowMs / 1000);
    const claims = {
      iss: this.url(spec.issuer),
      sub: spec.subject,
      aud: spec.audiences.map((audience) => (audience === "platform" ? platform : audience)),
      iat,
      exp: iat + seconds,
      ...(spec.groups.length > 0 && { groups: spec.groups }),
      ...(spec.repo !== "" && { repo: spec.repo }),
      ...(spec.hasEmail && { name: spec.subject, email: `${spec.subject}@acme.example`, email_verified: true }),
    };
    const header = { alg: algorithmOf(spec.key), typ: "JWT", ...(spec.namesKey && { kid: spec.key }) };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const text = `${part(header)}.${part(claims)}`;
    const digest = spec.key === "long" ? "sha384" : "sha256";
    const key = { key: pairs.get(spec.key)!.privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${text}.${sign(digest, Buffer.from(text), key).toString("base64url")}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
