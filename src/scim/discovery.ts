/** The documents about the service itself (RFC 7644, section 4). `base`: where clients reach it. */
import { ScimError } from "./errors.ts";
import { limits } from "./limits.ts";
import { describeAttribute, type ResourceType, resourceTypes, type Schema, schemas } from "./schemas.ts";

/** The form of every list. */
export const listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** All documents of one kind in a list, or the one with an id. Errors: ScimError 404. */
function documentsOf(all: readonly { readonly id: string }[], id: string | undefined): object {
  if (id === undefined)
    return { schemas: [listSchema], totalResults: all.length, startIndex: 1, itemsPerPage: all.length, Resources: all };
  const found = all.find((each) => each.id === id);
  if (found === undefined) throw nothingHere();
  return found;
}

/** The types of resources, or one of them. Errors: ScimError 404. */
export function resourceTypeDocuments(base: string, id?: string): object {
  return documentsOf(
    resourceTypes.map((type) => describeType(base, type)),
    id,
  );
}

/** The schemas of resources, or one of them. Errors: ScimError 404. */
export function schemaDocuments(base: string, id?: string): object {
  return documentsOf(
    schemas.map((schema) => describeSchema(base, schema)),
    id,
  );
}

/** What the service can do. */
export function serviceProviderConfig(base: string): object {
  const no = { supported: false };
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: limits.count },
    changePassword: no,
    sort: no,
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "The token that the identity provider was given for provisioning.",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

function describeType(base: string, { id, endpoint, schema, extension }: ResourceType) {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
    id,
    name: id,
    description: schema.description,
    endpoint,
    schema: schema.id,
    ...(extension !== undefined && { schemaExtensions: [{ schema: extension.id, required: false }] }),
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${id}` },
  };
}

function describeSchema(base: string, { id, name, description, attributes }: Schema) {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    id,
    name,
    description,
    attributes: attributes.map(describeAttribute),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
  };
}

/** The error of a path that nothing is at. */
export function nothingHere(): ScimError {
  return new ScimError(404, "there is nothing at this path");
}
