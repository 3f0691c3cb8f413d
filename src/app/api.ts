/** What the server serves, as the code declares it. */
import { createRegistry, type DescService, type Registry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import type { Config } from "../config.ts";
import { type Contract, readContract } from "../contract/index.ts";
import type { MountedService } from "../resource/index.ts";
import { createServices } from "../services/index.ts";

/** The services, and what their descriptors say. */
export interface Api {
  readonly services: readonly MountedService[];
  readonly descriptors: readonly DescService[];
  readonly contract: Contract;
  /** Finds the types of google.protobuf.Any values and of error details. */
  readonly registry: Registry;
}

/** Reads the services that the settings ask for. */
export function readApi(config: Config): Api {
  const services = createServices(config);
  const descriptors = services.map(({ service }) => service);
  return {
    services,
    descriptors,
    contract: readContract(descriptors),
    registry: createRegistry(...descriptors.map(({ file }) => file), file_google_rpc_error_details),
  };
}
