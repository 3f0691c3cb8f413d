/**
 * Manifests and indexes: OCI Image Format 1.1 and Docker Image Manifest V2, Schema 2. Reads only the fields in use, and
 * checks them. Anything else that a tag names has a media type alone: artifacts, Docker's schema 1, invalid content.
 */

import { parseUnambiguous } from "../../../codec/index.ts";

/** A descriptor: a reference to content. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The platform of an image. */
export interface Platform {
  readonly architecture: string;
  readonly variant: string;
  readonly os: string;
}

/** A manifest of one platform. */
export interface Manifest {
  readonly kind: "manifest";
  readonly mediaType: string;
  readonly config: Descriptor;
  /** Size of the configuration and all layers, in bytes. */
  readonly size: number;
}

/** An index of manifests and other indexes, without attestations. */
export interface Index {
  readonly kind: "index";
  readonly mediaType: string;
  readonly manifests: readonly (Descriptor & { readonly platform: Platform | undefined })[];
}

/** Content without a known size and platforms. */
export interface OtherContent {
  readonly kind: "other";
  readonly mediaType: string;
}

const manifestTypes = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
const indexTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];
/** Docker Image Manifest V2, Schema 1. The digest of a signed one is that of its content without the signature. */
const schema1Types = [
  "application/vnd.docker.distribution.manifest.v1+prettyjws",
  "application/vnd.docker.distribution.manifest.v1+json",
];
const otherTypes = [...schema1Types, "application/vnd.oci.artifact.manifest.v1+json"];
const configTypes = ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

/** `Accept` of a request for what a tag names. */
export const acceptedTypes = [...indexTypes, ...manifestTypes, ...otherTypes, "*/*;q=0.1"].join(", ");

/** Whether a media type is of an index or a manifest of any schema. */
export function isManifestType(mediaType: string): boolean {
  return [...indexTypes, ...manifestTypes, ...otherTypes].includes(mediaType);
}

/** Whether the digest of content of that type is not that of its bytes. */
export function isSignedType(contentType: string): boolean {
  return schema1Types.includes(typeOf(contentType));
}

/** Whether a descriptor references the configuration of an image. */
export function isImageConfig({ mediaType }: Descriptor): boolean {
  return configTypes.includes(mediaType);
}

/** Whether `text` is a supported digest: `sha256:` and 64 lower-case hex digits. */
export function isDigest(text: unknown): text is string {
  return typeof text === "string" && /^sha256:[0-9a-f]{64}$/.test(text);
}

/**
 * Parses what a digest names.
 * @param contentType content type of the response; `mediaType` of the body takes precedence.
 */
export function parseManifest(body: Uint8Array, contentType: string): Manifest | Index | OtherContent {
  const json = parseObject(body) ?? {};
  const mediaType = isMediaType(json.mediaType) ? json.mediaType : mediaTypeOf(json, typeOf(contentType));
  const other: OtherContent = { kind: "other", mediaType };
  if (indexTypes.includes(mediaType)) return parseIndex(json, mediaType) ?? other;
  return (manifestTypes.includes(mediaType) ? parseImage(json, mediaType) : undefined) ?? other;
}

/** The platform in the configuration of an image; undefined if it names none. */
export function parseConfig(body: Uint8Array): Platform | undefined {
  return parsePlatform(parseObject(body));
}

function typeOf(contentType: string): string {
  return (contentType.split(";")[0] ?? "").trim();
}

/** The media type of content that does not name its own. It is optional in OCI's formats. */
function mediaTypeOf({ manifests, config }: Members, contentType: string): string {
  if (isManifestType(contentType)) return contentType;
  const known = Array.isArray(manifests) ? indexTypes[0] : config === undefined ? undefined : manifestTypes[0];
  return known ?? (isMediaType(contentType) ? contentType : "application/octet-stream");
}

function parseImage({ config: given, layers = [] }: Members, mediaType: string): Manifest | undefined {
  const config = parseDescriptor(given);
  if (config === undefined || !Array.isArray(layers)) return undefined;
  const sizes = layers.map((layer) => parseDescriptor(layer)?.size);
  const size = sizes.reduce<number>((sum, each) => sum + (each ?? Number.NaN), config.size);
  return Number.isSafeInteger(size) ? { kind: "manifest", mediaType, config, size } : undefined;
}

function parseIndex({ manifests }: Members, mediaType: string): Index | undefined {
  if (!Array.isArray(manifests)) return undefined;
  const entries = manifests.flatMap((entry) => {
    const descriptor = parseDescriptor(entry);
    const { platform: given, annotations } = Object(entry) as Members;
    const isAttestation =
      (Object(given) as Members).architecture === "unknown" ||
      (Object(annotations) as Members)["vnd.docker.reference.type"] === "attestation-manifest";
    if (descriptor === undefined || isAttestation || !isManifestType(descriptor.mediaType)) return [];
    return [{ ...descriptor, platform: parsePlatform(given) }];
  });
  return { kind: "index", mediaType, manifests: entries };
}

type Members = Readonly<Record<string, unknown>>;

function parseDescriptor(json: unknown): Descriptor | undefined {
  const { mediaType, digest, size } = Object(json) as Members;
  if (!isMediaType(mediaType) || !isDigest(digest)) return undefined;
  return typeof size === "number" && Number.isSafeInteger(size) && size >= 0 ? { mediaType, digest, size } : undefined;
}

/** A platform; undefined if its architecture is not known, as that of attestations. */
function parsePlatform(json: unknown): Platform | undefined {
  const { architecture, variant, os } = Object(json) as Members;
  if (!isName(architecture) || architecture === "" || architecture === "unknown") return undefined;
  return { architecture, variant: isName(variant) ? variant : "", os: isName(os) ? os : "" };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && /^[\w.-]{0,64}$/.test(value);
}

function isMediaType(value: unknown): value is string {
  return typeof value === "string" && value.length <= 255 && /^[\w.+-]+\/[\w.+-]+$/.test(value);
}

function parseObject(body: Uint8Array): Members | undefined {
  try {
    const json = parseUnambiguous(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Members) : undefined;
  } catch {
    return undefined;
  }
}
