/** What the server serves, as the code declares it. */
import { createRegistry, type DescMethod, type DescService, type Registry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import type { Config } from "../config/index.ts";
import { type Contract, readContract } from "../contract/index.ts";
import type { MountedService } from "../resource/index.ts";
import { createServices, KnownComponents } from "../services/index.ts";
import { LiveSettings } from "./settings/live-settings.ts";

/** The services, and what their descriptors say. */
export interface Api {
  readonly services: readonly MountedService[];
  readonly descriptors: readonly DescService[];
  readonly contract: Contract;
  /** Finds the types of google.protobuf.Any values and of error details. */
  readonly registry: Registry;
  /** How many calls of each method of v1 this process has answered, by full name of the method. */
  readonly callsOfV1: ReadonlyMap<string, number>;
  /** What this process knows about components of images. */
  readonly components: KnownComponents;
}

/** Reads the services that the settings ask for. */
export function readApi(config: Config, live = new LiveSettings(config)): Api {
  const callsOfV1 = new Map<string, number>();
  const options = {
    ...config,
    get v1MaxListItems() {
      return live.current.v1MaxListItems;
    },
  };
  const countCall = ({ parent, name }: DescMethod) => {
    const key = `${parent.typeName}/${name}`;
    callsOfV1.set(key, (callsOfV1.get(key) ?? 0) + 1);
  };
  const components = new KnownComponents(config.clock === undefined ? Date.now : () => config.clock!);
  const services = createServices(options, countCall, components);
  const descriptors = services.map(({ service }) => service);
  return {
    services,
    descriptors,
    contract: readContract(descriptors),
    registry: createRegistry(...descriptors.map(({ file }) => file), file_google_rpc_error_details),
    callsOfV1,
    components,
  };
}
