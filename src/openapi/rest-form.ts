/** The options of the REST handler on which requests and responses depend. */
import type { RestOptions } from "../rest/index.ts";

/** Those options, as `createRestHandler` takes them. */
export type RestForm = Pick<
  RestOptions,
  "httpRules" | "invalidBindings" | "basePath" | "json" | "jsonTypes" | "protobufBodies" | "emptyAnswer" | "errors"
>;
