/**
 * scim: provisioning of users and groups by the client of an identity provider, over SCIM 2.0 (RFC 7643, RFC 7644).
 * Calls are those of `pipeline`: limited, counted, logged and recorded as others are. What one request costs is bounded
 * (`limits.ts`).
 *
 * The grammar of filters and PATCH are our own. Of the libraries of npm, scim-patch lets a path change the prototype of
 * all objects, compares each value with each, and knows no schema; scim2-parse-filter applies the comparison after
 * `emails[type eq "work"].value` to other values too; scimmy expands a filter to its disjunctive form, which is
 * exponential.
 */
export { createScim, type ScimOptions, type ScimPayers, scimPath } from "./endpoint.ts";
export { scimMethods } from "./routes.ts";
