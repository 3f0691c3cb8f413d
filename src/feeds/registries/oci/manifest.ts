/**
 * Manifests and indexes: OCI Image Format 1.1 and Docker Image Manifest V2, Schema 2. Reads only the fields in use, and
 * checks them.
 */

import { parseUnambiguous } from "../../../codec/index.ts";
import { RegistryRefusal } from "./errors.ts";

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

/** An index of manifests, without attestations. */
export interface Index {
  readonly kind: "index";
  readonly mediaType: string;
  readonly manifests: readonly (Descriptor & { readonly platform: Platform | undefined })[];
}

const manifestTypes = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
const indexTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];
const configTypes = ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];
const maxManifests = 200;

/** `Accept` of a request for a manifest or an index. */
export const acceptedTypes = [...indexTypes, ...manifestTypes].join(", ");

/** Whether a media type is of an index or a manifest. */
export function isManifestType(mediaType: string): boolean {
  return indexTypes.includes(mediaType) || manifestTypes.includes(mediaType);
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
 * Parses a manifest or an index. Errors: RegistryRefusal.
 * @param contentType content type of the response; `mediaType` of the body takes precedence.
 */
export function parseManifest(body: Uint8Array, contentType: string): Manifest | Index {
  const json = parseObject(body, "the manifest");
  const mediaType = typeof json.mediaType === "string" ? json.mediaType : (contentType.split(";")[0] ?? "").trim();
  if (indexTypes.includes(mediaType)) return parseIndex(json, mediaType);
  if (!manifestTypes.includes(mediaType))
    throw new RegistryRefusal(`${JSON.stringify(mediaType.slice(0, 100))} is not a supported type of manifest`);
  const config = parseDescriptor(json.config, "config");
  const layers = listOf(json.layers, "layers").map((layer, i) => parseDescriptor(layer, `layers[${i}]`));
  const size = layers.reduce((sum, layer) => sum + layer.size, config.size);
  if (!Number.isSafeInteger(size)) throw new RegistryRefusal("the size of the manifest is out of range");
  return { kind: "manifest", mediaType, config, size };
}

/** The platform in the configuration of an image. Errors: RegistryRefusal. */
export function parseConfig(body: Uint8Array): Platform {
  return parsePlatform(parseObject(body, "the configuration"), "the configuration");
}

function parseIndex(json: Readonly<Record<string, unknown>>, mediaType: string): Index {
  const entries = listOf(json.manifests, "manifests");
  if (entries.length > maxManifests) throw new RegistryRefusal(`the index has more than ${maxManifests} manifests`);
  const manifests = entries.flatMap((entry, i) => {
    const where = `manifests[${i}]`;
    const descriptor = parseDescriptor(entry, where);
    const { platform: given, annotations } = entry as Record<string, unknown>;
    const platform = given === undefined || given === null ? undefined : parsePlatform(given, `${where}.platform`);
    const isAttestation =
      platform?.architecture === "unknown" ||
      Object(annotations)["vnd.docker.reference.type"] === "attestation-manifest";
    return isAttestation || !manifestTypes.includes(descriptor.mediaType) ? [] : [{ ...descriptor, platform }];
  });
  return { kind: "index", mediaType, manifests };
}

function parseDescriptor(json: unknown, where: string): Descriptor {
  const { mediaType, digest, size } = Object(json) as Record<string, unknown>;
  if (typeof mediaType !== "string" || mediaType.length > 255)
    throw new RegistryRefusal(`${where}.mediaType is not a media type`);
  if (!isDigest(digest)) throw new RegistryRefusal(`${where}.digest is not a SHA-256 digest`);
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw new RegistryRefusal(`${where}.size is not a size`);
  return { mediaType, digest, size };
}

function parsePlatform(json: unknown, where: string): Platform {
  const { architecture, variant = "", os = "" } = Object(json) as Record<string, unknown>;
  const word = /^[\w.-]{0,64}$/;
  for (const [name, value] of Object.entries({ architecture, variant, os }))
    if (typeof value !== "string" || !word.test(value))
      throw new RegistryRefusal(`${where}.${name} is not a valid name`);
  return { architecture, variant, os } as Platform;
}

function listOf(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new RegistryRefusal(`${where} is not a list`);
  return value;
}

function parseObject(body: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = parseUnambiguous(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new RegistryRefusal(`${what} is not JSON`);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new RegistryRefusal(`${what} is not a JSON object`);
  return json as Record<string, unknown>;
}
