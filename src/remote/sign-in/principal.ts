/** Principals: issuer and subject of a token that names no identity. */
import type { JsonObject } from "@bufbuild/protobuf";
import { userIdentityUid } from "../../new-uid.ts";
import type { Session } from "../session/session.ts";
import { callUnlessDenied, type Named, namedBy } from "./roles.ts";

/** The issuer and the subject of a token. */
interface Principal {
  readonly issuer: string;
  readonly subject: string;
}

/** The page of the largest size. */
const pageSize = 200;
const maxIdentities = 20;

/** The principal whose uid this is; undefined for the uid of an identity of a group. */
export function principalOf(uid: string, issuer: unknown, subject: unknown): Principal | undefined {
  if (typeof issuer !== "string" || typeof subject !== "string") return undefined;
  return uid === userIdentityUid(issuer, subject) ? { issuer, subject } : undefined;
}

/**
 * Identities in groups with exactly this issuer and subject, as far as the caller may list them: the oldest of them.
 */
export async function identitiesOf(session: Session, { issuer, subject }: Principal): Promise<readonly Named[]> {
  const request = { orderBy: "create_time", pageSize };
  const found = await callUnlessDenied(session, "platform.iam.v2.IdentitiesService", "listIdentities", request);
  const listed = (found?.identities ?? []) as readonly JsonObject[];
  return listed
    .filter(({ uid, claimMatch, staticKeys }) => {
      const rule = (claimMatch ?? staticKeys ?? {}) as JsonObject;
      return String(uid).includes("/") && rule.issuer === issuer && rule.subject === subject;
    })
    .slice(0, maxIdentities)
    .map(({ uid }) => namedBy(listed, String(uid)));
}
