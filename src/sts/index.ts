/**
 * sts: the security token service, where tokens are exchanged (RFC 8693), refreshed (RFC 6749) and revoked (RFC 7009).
 */
export { createSts, stsMethods } from "./endpoint.ts";
