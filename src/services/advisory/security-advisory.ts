/**
 * The service of security advisory data that belongs to no group. Documents and metadata are the same for every
 * authenticated caller. A Get takes a uid or a published id, such as a CVE id.
 */
import type { DescMessage, DescMethod, Message, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ListDocumentsResponse,
  type ListVulnerabilityMetadataResponse,
  SecurityAdvisoryService,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import type { Awaitable } from "../../awaitable.ts";
import { invalid } from "../../errors.ts";
import {
  databaseOf,
  implement,
  listResources,
  type Resource,
  standardBatchGet,
  standardGet,
} from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
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

/** For each of some uids or ids the uid of what it names; itself where that does not exist. */
type Find = (session: ReadSession, given: readonly string[]) => Promise<readonly string[]>;

/** The standard Get of what `find` knows the uid of. */
function getNamed<R extends DescMessage>(resource: Resource<R>, find: Find) {
  const get = standardGet(resource);
  return async (request: Message & { uid: string }, context: HandlerContext): Promise<MessageShape<R>> => {
    if (request.uid === "") throw invalid({ field: "uid", description: "is required" });
    const [uid = ""] = await find(databaseOf(context), [request.uid]);
    return (await get({ ...request, uid }, context)) as MessageShape<R>;
  };
}

/** The standard BatchGet of what `find` knows the uids of. */
function batchGetNamed<O extends DescMessage>(resource: Resource, method: DescMethod & { output: O }, find: Find) {
  const batchGet = standardBatchGet(resource, method);
  return async (request: Message & { uids: readonly string[] }, context: HandlerContext): Promise<MessageShape<O>> =>
    (await batchGet({ ...request, uids: await find(databaseOf(context), request.uids) }, context)) as MessageShape<O>;
}
