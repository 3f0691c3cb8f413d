/** An identity beside that of the token: its tokens are signed here, by a key that the server is given. */
import { randomUUID } from "node:crypto";
import { freshName } from "./server/uids.ts";
import { MissingNeed, type Target } from "./target.ts";

const issuer = "https://contract-check.invalid";
const audience = "contract-check";

/** An identity of a group, without any role. */
export interface SecondIdentity {
  readonly uid: string;
  /** Valid for an hour. */
  readonly token: string;
}

/** Creates it. */
export async function createSecondIdentity(target: Target, parent: string): Promise<SecondIdentity> {
  const { exportJWK, generateKeyPair, SignJWT } = await import("jose");
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const [kid, subject] = [randomUUID(), freshName()];
  const keys = [{ ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" }];
  const staticKeys = { issuer, subject, issuerKeys: JSON.stringify({ keys }), audiences: [audience] };
  const { uid, createTime } = await target.make("CreateIdentity", {
    parent,
    identity: { name: freshName(), staticKeys },
  });
  const issued = Math.floor(Date.parse(String(createTime)) / 1000); // by the clock of the server
  if (Number.isNaN(issued)) throw new MissingNeed("CreateIdentity answers no time of creation");
  const token = await new SignJWT()
    .setProtectedHeader({ alg: "ES256", kid, typ: "JWT" })
    .setIssuer(issuer)
    .setSubject(subject)
    .setAudience(audience)
    .setIssuedAt(issued)
    .setExpirationTime(issued + 3600)
    .sign(privateKey);
  return { uid: String(uid), token };
}
