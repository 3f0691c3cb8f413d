/** Get and BatchGet of what has a uid and published ids, such as a CVE id. */
import type { DescMessage, DescMethod, Message, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { invalid } from "../errors.ts";
import { databaseOf, type Resource, standardBatchGet, standardGet } from "../resource/index.ts";
import type { ReadSession } from "../store/index.ts";

/** For each of some uids or ids the uid of what it names; itself where that does not exist. */
type Find = (session: ReadSession, given: readonly string[]) => Promise<readonly string[]>;

/** The standard Get of what `find` knows the uid of. */
export function getNamed<R extends DescMessage>(resource: Resource<R>, find: Find) {
  const get = standardGet(resource);
  return async (request: Message & { uid: string }, context: HandlerContext): Promise<MessageShape<R>> => {
    if (request.uid === "") throw invalid({ field: "uid", description: "is required" });
    const [uid = ""] = await find(databaseOf(context), [request.uid]);
    return (await get({ ...request, uid }, context)) as MessageShape<R>;
  };
}

/** The standard BatchGet of what `find` knows the uids of. */
export function batchGetNamed<O extends DescMessage>(
  resource: Resource,
  method: DescMethod & { output: O },
  find: Find,
) {
  const batchGet = standardBatchGet(resource, method);
  return async (request: Message & { uids: readonly string[] }, context: HandlerContext): Promise<MessageShape<O>> =>
    (await batchGet({ ...request, uids: await find(databaseOf(context), request.uids) }, context)) as MessageShape<O>;
}
