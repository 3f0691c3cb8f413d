/**
 * The service of security advisory data that belongs to no group. Documents and metadata are the same for every authenticated caller; a Get
 * takes the uid of a thing or the id that the world knows it by.
 */
import type { Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { SecurityAdvisoryService } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { invalid } from "../../errors.ts";
import {
  databaseOf,
  type Handlers,
  implement,
  listResources,
  type Resource,
  type ServiceImplementation,
  standardMethods,
} from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { documentNamed, documents } from "./documents.ts";
import { metadataNamed, vulnerabilityMetadata } from "./vulnerability-metadata.ts";

type Handler = Handlers[string];

/** @param listResolvedVulnsReports what answers about images, which another domain knows. */
export function securityAdvisoryService(listResolvedVulnsReports: Handler): ServiceImplementation {
  return implement(SecurityAdvisoryService, {
    getDocument: getNamed(documents, documentNamed),
    listDocuments: listAll(documents),
    getVulnerabilityMetadata: getNamed(vulnerabilityMetadata, metadataNamed),
    listVulnerabilityMetadata: listAll(vulnerabilityMetadata),
    listResolvedVulnsReports,
  });
}

/** The standard Get, for whatever `find` knows the uid of. */
function getNamed(
  resource: Resource,
  find: (session: ReadSession, given: string) => Promise<string | undefined>,
): Handler {
  const get = standardMethods(SecurityAdvisoryService, resource)[`get${resource.contract.kind}`]!;
  return async (request: Message & { uid: string }, context: HandlerContext) => {
    const { uid } = request;
    if (uid === "") throw invalid({ field: "uid", description: "is required" });
    return get({ ...request, uid: (await find(databaseOf(context), uid)) ?? uid } as never, context);
  };
}

/** The standard List; it holds the same for everybody. */
function listAll(resource: Resource): Handler {
  return (request, context) => listResources(resource, request, context, [""]);
}
