/** What the registry knows about the images of a repo. */
import { Code } from "@connectrpc/connect";
import { Skeleton } from "@mantine/core";
import { PlatformError } from "../../../src/client/index.ts";
import { useMethod } from "../contract.ts";
import { useCall } from "../queries.ts";

/** An image, which a digest names in a repo. */
export interface ImageProps {
  readonly repoUid: string;
  readonly digest: string;
}

const service = "platform.registry.v2.ImagesService";

/** The architectures that an image is built for: none if they are not known, or the caller may not see them. */
export function useArchitectures({ repoUid, digest }: ImageProps) {
  const { data, error } = useCall(useMethod(service, "getArchitectures"), { repoUid, digest });
  if (isUnknown(error)) return { architectures: [], error: null };
  return { architectures: data && ((data.architectures as string[] | undefined) ?? []), error };
}

function isUnknown(error: Error | null): boolean {
  return error instanceof PlatformError && [Code.NotFound, Code.PermissionDenied].includes(error.code);
}

/** The size of an image for an architecture. */
export function ImageSize({ repoUid, digest, architecture }: ImageProps & { readonly architecture: string }) {
  const { data, error } = useCall(useMethod(service, "getSize"), { repoUid, digest, architecture });
  if (error !== null) return isUnknown(error) ? "–" : "not readable";
  if (data === undefined) return <Skeleton height={14} width={60} />;
  const bytes = Number(data.size ?? 0);
  return <span title={`${bytes.toLocaleString("en")} bytes for ${architecture}`}>{sizeText(bytes)}</span>;
}

const units = ["bytes", "kB", "MB", "GB", "TB"];

/** A number of bytes, rounded, in powers of 1000. */
function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  return `${(bytes / 1000 ** power).toLocaleString("en", { maximumFractionDigits: power === 0 ? 0 : 1 })} ${units[power]}`;
}
