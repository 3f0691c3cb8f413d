/** Errors of calls. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** The error of a call, with its details read. */
export class PlatformError extends ConnectError {
  /** The reason of its `google.rpc.ErrorInfo`: `RESOURCE_NOT_EMPTY`; the name of the code where it has none. */
  get reason(): string {
    return this.findDetails(ErrorInfoSchema)[0]?.reason ?? Code[this.code];
  }

  /** The fields that the server refused, in proto names: `claim_match.subject`. */
  get violations(): readonly { readonly field: string; readonly description: string }[] {
    return this.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  }
}
