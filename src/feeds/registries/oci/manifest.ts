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

/** A layer of a manifest. */
interface Layer extends Descriptor {
  /** The type of the in-toto statement in it, as its annotations or those of the manifest say. */
  readonly predicateType: string | undefined;
}

/** A manifest of one platform, or of an artifact. */
export interface Manifest {
  readonly kind: "manifest";
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Layer[];
  /** The digest of the manifest that this one refers to. */
  readonly subject: string | undefined;
  /** Size of the configuration and all layers, in bytes. */
  readonly size: number;
}

/** A manifest, or another index, in an index. */
interface IndexEntry extends Descriptor {
  readonly platform: Platform | undefined;
  readonly artifactType: string | undefined;
  /** The type of the in-toto statement in an artifact, if it is annotated. */
  readonly predicateType: string | undefined;
}

/** An attestation manifest of BuildKit ("Image attestation storage"). */
export interface Attestation {
  readonly digest: string;
  /** The digest of the manifest that it is about. */
  readonly subject: string;
}

/** An index of manifests and other indexes. */
export interface Index {
  readonly kind: "index";
  readonly mediaType: string;
  /** Without attestations. */
  readonly manifests: readonly IndexEntry[];
  readonly attestations: readonly Attestation[];
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

function parseImage(
  { config: given, subject, annotations, ...members }: Members,
  mediaType: string,
): Manifest | undefined {
  const config = parseDescriptor(given);
  const listed = members.layers ?? []; // Go writes null for an empty list.
  if (config === undefined || !Array.isArray(listed)) return undefined;
  const layers = listed.flatMap((layer): Layer[] => {
    const descriptor = parseDescriptor(layer);
    const predicateType = predicateTypeOf((Object(layer) as Members).annotations) ?? predicateTypeOf(annotations);
    return descriptor === undefined ? [] : [{ ...descriptor, predicateType }];
  });
  const size = layers.reduce((sum, layer) => sum + layer.size, config.size);
  if (layers.length < listed.length || !Number.isSafeInteger(size)) return undefined;
  return { kind: "manifest", mediaType, config, layers, subject: parseDescriptor(subject)?.digest, size };
}

function parseIndex({ manifests: listed }: Members, mediaType: string): Index | undefined {
  if (!Array.isArray(listed)) return undefined;
  const manifests: IndexEntry[] = [];
  const attestations: Attestation[] = [];
  for (const entry of listed) {
    const descriptor = parseDescriptor(entry);
    const { platform: given, annotations, artifactType } = Object(entry) as Members;
    const { "vnd.docker.reference.type": referenceType, "vnd.docker.reference.digest": subject } = Object(
      annotations,
    ) as Members;
    if (descriptor === undefined || !isManifestType(descriptor.mediaType)) continue;
    if (referenceType === "attestation-manifest") {
      if (isDigest(subject)) attestations.push({ digest: descriptor.digest, subject });
    } else if ((Object(given) as Members).architecture !== "unknown") {
      manifests.push({
        ...descriptor,
        platform: parsePlatform(given),
        artifactType: isMediaType(artifactType) ? artifactType : undefined,
        predicateType: predicateTypeOf(annotations),
      });
    }
  }
  return { kind: "index", mediaType, manifests, attestations };
}

/** The type of an in-toto statement in the annotations of BuildKit, of Sigstore bundles, and of cosign before them. */
function predicateTypeOf(annotations: unknown): string | undefined {
  const members = Object(annotations) as Members;
  return ["in-toto.io/predicate-type", "dev.sigstore.bundle.predicateType", "predicateType"]
    .map((name) => members[name])
    .find((type) => typeof type === "string");
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
