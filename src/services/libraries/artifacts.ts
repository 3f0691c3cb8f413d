/**
 * Artifacts: the libraries of language ecosystems, and their versions. Importers write them; the API only reads them.
 */

import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type Artifact,
  ArtifactSchema,
  ArtifactsService,
  ArtifactVersionSchema,
  GetArtifactCountResponseSchema,
  ListArtifactsRequestSchema,
  type ListArtifactsResponse,
  ListArtifactVersionsRequestSchema,
  type ListArtifactVersionsResponse,
} from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { notFound } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  implement,
  listResources,
  type MountedService,
  toResponse,
} from "../../resource/index.ts";
import { findArtifact } from "./artifact-id.ts";
import { versionOrderOf } from "./version-order.ts";

export const artifacts = defineResource({
  schema: ArtifactSchema,
  list: ListArtifactsRequestSchema,
  columns: {
    name: { text: (artifact) => artifact.name },
    ecosystem: { integer: (artifact) => artifact.ecosystem },
    search: { search: searchTextOf },
  },
  filters: {
    ecosystems: (ecosystems) => [{ column: "ecosystem", in: ecosystems }],
    // Line breaks separate the texts that are searched.
    query: (query) =>
      query.includes("\n") ? [{ column: "uid", in: [] }] : [{ column: "search", contains: query.toLowerCase() }],
  },
  defaultOrder: [{ column: "name", descending: false }],
});

export const artifactVersions = defineResource({
  schema: ArtifactVersionSchema,
  list: ListArtifactVersionsRequestSchema,
  parent: artifacts,
  onParentDelete: "cascade",
  columns: {
    artifact_version: { text: ({ version }) => version },
    version_order: { text: ({ ecosystem, version }) => versionOrderOf(ecosystem, version).key },
  },
  filters: { artifactId: (uid) => [{ column: "parent", equals: uid }] },
  sortNames: {
    version: "version_order",
    name: "parent", // the name is that of the artifact
  },
  defaultOrder: [{ column: "version_order", descending: true }],
});

export const artifactsService: MountedService = implement(ArtifactsService, [artifacts, artifactVersions], {
  async getArtifact({ uid }, context) {
    return toResponse(artifacts, await requireArtifact("uid", uid, context), context);
  },

  async listArtifacts(request, context) {
    return (await listResources(artifacts, request, context, visibleScopes(context))) as ListArtifactsResponse;
  },

  async listArtifactVersions(request, context) {
    const scopes = visibleScopes(context);
    if (scopes.length > 0) {
      const { uid } = await requireArtifact("artifact_id", request.artifactId, context);
      request = { ...request, artifactId: uid };
    }
    return (await listResources(artifactVersions, request, context, scopes)) as ListArtifactVersionsResponse;
  },

  async getArtifactCount({ ecosystems }, context) {
    const within = visibleScopes(context).map((root) => ({ root, self: true }));
    const counts = [...new Set(ecosystems)].map(async (ecosystem) => {
      const where = [{ column: "ecosystem", equals: ecosystem }];
      return { ecosystem, totalCount: BigInt(await databaseOf(context).count(artifacts.table, { within, where })) };
    });
    return create(GetArtifactCountResponseSchema, { counts: await Promise.all(counts) });
  },
});

/** Artifacts belong to no group: a caller who may list them in any group may list all. */
function visibleScopes(context: HandlerContext): readonly string[] {
  return scopesOf(context).length === 0 ? [] : [""];
}

/** Errors: INVALID_ARGUMENT for a name in several ecosystems; NOT_FOUND, also for a caller who may see none. */
async function requireArtifact(field: string, id: string, context: HandlerContext) {
  const isVisible = visibleScopes(context).length > 0;
  const row = isVisible ? await findArtifact(artifacts.table, databaseOf(context), field, id) : undefined;
  if (row === undefined) throw notFound({ type: artifacts.contract.type, uid: id });
  return row;
}

function searchTextOf({ name, description }: Artifact): string {
  return `${name}\n${description}`.toLowerCase();
}
