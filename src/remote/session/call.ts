/** Calls of methods by their descriptors. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { failureOfCall, foreignAnswer } from "./failure.ts";
import type { Session } from "./session.ts";

/**
 * Calls a unary method. Errors: PlatformError; CommandFailure if the server does not have the method, or is none of
 * this API. @param request a message, or its fields by their local names.
 */
export async function callMethod(session: Session, method: DescMethod, request: object): Promise<Message> {
  const { server, transport } = session;
  const { name, parent, input, output } = method;
  const message =
    "$typeName" in request ? (request as Message) : create(input, request as MessageInitShape<DescMessage>);
  try {
    const answer = await transport.unary(method as DescMethodUnary, undefined, undefined, undefined, message);
    // JSON of something else decodes, too: unknown fields are ignored, for newer servers.
    if (isNeverEmpty(method) && toBinary(output, answer.message).length === 0)
      throw foreignAnswer(server, `${name} with none of the fields of its answer`);
    return answer.message;
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== Code.Unimplemented) throw error;
    throw failureOfCall(error, server, `${server} has no method ${parent.typeName}/${name}`);
  }
}

/** A list of version 2 has the number of results, which may be 0 or absent; a resource has a uid. */
function isNeverEmpty({ parent, output }: DescMethod): boolean {
  const { totalCount, uid } = output.field;
  return (
    parent.file.proto.package.endsWith(".v2") &&
    (totalCount?.presence === FeatureSet_FieldPresence.EXPLICIT || uid !== undefined)
  );
}
