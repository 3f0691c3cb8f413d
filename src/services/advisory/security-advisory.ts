/**
 * The service of security advisory data that belongs to no group. Documents and metadata are the same for every
 * authenticated caller. A Get takes a uid or a published id, such as a CVE id.
 */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
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
  type MountedService,
  type Resource,
  standardGet,
} from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { documentNamed, documents } from "./documents.ts";
import type { resolvedVulnsReports } from "./resolved-vulns-reports.ts";
import { metadataNamed, vulnerabilityMetadata } from "./vulnerability-metadata.ts";

/** Lists are the same for everybody. */
const everything = [""];

/** @param listResolvedVulnsReports needs images, which another domain has. */
export function securityAdvisoryService(
  listResolvedVulnsReports: ReturnType<typeof resolvedVulnsReports>,
): MountedService {
  return implement(SecurityAdvisoryService, [documents, vulnerabilityMetadata], {
    getDocument: getNamed(documents, documentNamed),
    listDocuments: (request, context) =>
      listResources(documents, request, context, everything) as Awaitable<ListDocumentsResponse>,
    getVulnerabilityMetadata: getNamed(vulnerabilityMetadata, metadataNamed),
    listVulnerabilityMetadata: (request, context) =>
      listResources(
        vulnerabilityMetadata,
        request,
        context,
        everything,
      ) as Awaitable<ListVulnerabilityMetadataResponse>,
    listResolvedVulnsReports,
  });
}

/** The standard Get of what `find` knows the uid of. */
function getNamed<R extends DescMessage>(
  resource: Resource<R>,
  find: (session: ReadSession, given: string) => Promise<string | undefined>,
) {
  const get = standardGet(resource);
  return async (request: Message & { uid: string }, context: HandlerContext): Promise<MessageShape<R>> => {
    const { uid } = request;
    if (uid === "") throw invalid({ field: "uid", description: "is required" });
    const found = (await find(databaseOf(context), uid)) ?? uid;
    return (await get({ ...request, uid: found }, context)) as MessageShape<R>;
  };
}
