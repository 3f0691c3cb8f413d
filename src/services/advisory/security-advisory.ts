/**
 * The service of security advisory data that belongs to no group. Documents and metadata are the same for every
 * authenticated caller. A Get takes a uid or a published id, such as a CVE id.
 */
import {
  type ListDocumentsResponse,
  type ListVulnerabilityMetadataResponse,
  SecurityAdvisoryService,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import type { Awaitable } from "../../awaitable.ts";
import { implement, listResources } from "../../resource/index.ts";
import { batchGetNamed, getNamed } from "../named.ts";
import { documents, documentsNamed } from "./documents.ts";
import { listResolvedVulnsReports } from "./resolved-vulns-reports.ts";
import { metadataNamed, vulnerabilityMetadata } from "./vulnerability-metadata.ts";

/** Lists are the same for everybody. */
const everything = [""];

export const securityAdvisoryService = implement(SecurityAdvisoryService, [documents, vulnerabilityMetadata], {
  getDocument: getNamed(documents, documentsNamed),
  batchGetDocuments: batchGetNamed(documents, SecurityAdvisoryService.method.batchGetDocuments, documentsNamed),
  listDocuments: (request, context) =>
    listResources(documents, request, context, everything) as Awaitable<ListDocumentsResponse>,
  getVulnerabilityMetadata: getNamed(vulnerabilityMetadata, metadataNamed),
  batchGetVulnerabilityMetadata: batchGetNamed(
    vulnerabilityMetadata,
    SecurityAdvisoryService.method.batchGetVulnerabilityMetadata,
    metadataNamed,
  ),
  listVulnerabilityMetadata: (request, context) =>
    listResources(vulnerabilityMetadata, request, context, everything) as Awaitable<ListVulnerabilityMetadataResponse>,
  listResolvedVulnsReports,
});
