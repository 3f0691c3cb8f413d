/**
 * Terms: the documents of the operator that a group has accepted. Acceptance by an organisation applies to all its
 * groups. Nothing depends on it.
 */
import { create } from "@bufbuild/protobuf";
import {
  AcceptTermsResponseSchema,
  ListTermsAcceptancesRequestSchema,
  type ListTermsAcceptancesResponse,
  TermsAcceptanceSchema,
  TermsService,
} from "../../../gen/platform/iam/v2/terms_pb.ts";
import type { TermsDocument } from "../../config/index.ts";
import { invalid } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  holdResource,
  implement,
  listResources,
  type MountedService,
  requireResource,
  storeResource,
} from "../../resource/index.ts";
import { ancestorsOf } from "../../uid.ts";
import { actingIdentity } from "./acting-identity.ts";
import { groups } from "./groups.ts";

export const termsAcceptances = defineResource({
  schema: TermsAcceptanceSchema,
  list: ListTermsAcceptancesRequestSchema,
  parent: groups,
  onParentDelete: "cascade",
  columns: { doc_id: { text: (acceptance) => acceptance.docId } },
  filters: {
    group: (uid) => [{ column: "parent", in: [...ancestorsOf(uid), uid] }],
    docId: equalTo("doc_id"),
  },
  unindexed: { docId: "the documents of a group are few" },
});

const neutralDocuments: readonly TermsDocument[] = [
  { id: "automation-tos.v1", label: "Terms of service of automation", url: "" },
  { id: "data-privacy.v1", label: "Data privacy", url: "" },
  { id: "registry-tos.v1", label: "Terms of service of the registry", url: "" },
];

/** @param documents the documents that can be accepted. */
export function termsService(documents = neutralDocuments): MountedService {
  return implement(TermsService, [termsAcceptances], {
    async acceptTerms({ group, documentIds }, context) {
      await holdResource(groups, group, context);
      requireKnown(documents, documentIds);
      const accepted = await databaseOf(context).list(termsAcceptances.table, {
        parent: group,
        where: [{ column: "doc_id", in: documentIds }],
        limit: documentIds.length,
      });
      const missing = new Set(documentIds);
      for (const { columns } of accepted) missing.delete(String(columns.doc_id));
      const acceptedBy = actingIdentity(group, context);
      for (const docId of missing) {
        const acceptance = create(TermsAcceptanceSchema, { docId, acceptedBy, orgUid: group });
        await storeResource(termsAcceptances, group, acceptance, context);
      }
      return create(AcceptTermsResponseSchema, { group, documentIds });
    },

    async listTermsAcceptances(request, context) {
      await requireResource(groups, request.group, context);
      return (await listResources(termsAcceptances, request, context, [""])) as ListTermsAcceptancesResponse;
    },
  });
}

/** Errors: INVALID_ARGUMENT on `document_ids`. */
function requireKnown(documents: readonly TermsDocument[], ids: readonly string[]): void {
  const unknown = ids.filter((id) => !documents.some((document) => document.id === id));
  if (unknown.length === 0) return;
  const known = documents.map(({ id, label, url }) => `${id} (${[label, url].filter(Boolean).join(", ")})`);
  throw invalid({
    field: "document_ids",
    description: `no document has the id ${unknown.map((id) => JSON.stringify(id)).join(", ")}; there are ${known.join("; ")}`,
  });
}
