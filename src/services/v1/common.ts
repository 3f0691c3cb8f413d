/** What all services of v1 have in common. */
import { create, type DescMethod, type DescService } from "@bufbuild/protobuf";
import { type UidpFilter, UidpFilterSchema } from "../../../gen/platform/common/uidp_filter_pb.ts";
import type { Conversion, Handler, MethodTranslations, Tables } from "../../translation/index.ts";

/** A service of v1, and what its messages differ in. */
export interface ServiceOfV1<S extends DescService = DescService> extends Partial<Pick<Tables, "messages" | "enums">> {
  readonly service: S;
  /** What makes the handler of each method. */
  methods(translations: MethodTranslations): { readonly [M in keyof S["method"]]: (method: DescMethod) => Handler };
}

/** Names that differ in every message of v1 and v2. */
export const renamedFields = {
  id: "uid",
  parent_id: "parent",
  created_at: "create_time",
  updated_at: "update_time",
  expiration: "expiration_time",
} as const;

const unpaged = "v1 answers the whole list, or pages in its own way";
const untimed = "v1 shows times only where it has a field for them";

/** Fields of v2 that no message of v1 has, or not every one. */
export const newInV2 = {
  validate_only: "v1 changes at once",
  force: "v1 never deletes what is below, and updates have no request of their own",
  etag: "v1 has no etags",
  create_time: untimed,
  update_time: untimed,
  page_size: unpaged,
  page_token: unpaged,
  order_by: unpaged,
  read_mask: "v1 answers whole resources",
  skip: unpaged,
  next_page_token: unpaged,
  total_count: unpaged,
  skipped: unpaged,
} as const;

/** A service of v1, with each of its methods. */
export function serviceOfV1<S extends DescService>(service: S, rest: Omit<ServiceOfV1<S>, "service">): ServiceOfV1 {
  return { ...rest, service };
}

/** A filter of v1 that is a hierarchy filter of v2. */
export function asUidpFilter(field: "ids" | "childrenOf"): Conversion {
  return {
    name: "uidp",
    toNewer: (uid: string) => create(UidpFilterSchema, { [field]: field === "ids" ? [uid] : uid }),
    toOlder: (filter: UidpFilter) => (field === "ids" ? filter.ids[0] : filter.childrenOf),
  };
}

/** The filter by the id of one resource, which the translation of lists reads itself. */
export const byId = { id: "the id of one resource" } as const;

const maxPageSize = 2 ** 31 - 1;

/** A page size that v1 holds in 64 bits. */
export const longPageSize: Conversion = {
  name: "page_size",
  toNewer: (size: bigint) => Number(size > maxPageSize ? BigInt(maxPageSize) : size),
  toOlder: (size: number) => BigInt(size),
};
