/**
 * scim: provisioning of users and groups by the client of an identity provider, over SCIM 2.0 (RFC 7643, RFC 7644).
 */
export { createScim, type ScimOptions, scimPath } from "./endpoint.ts";
