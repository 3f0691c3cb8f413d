/**
 * Which artifacts and layers may hold a bill of materials in JSON, by their types. Signatures, provenance and other
 * attestations are not downloaded where their types say what they are.
 */

import { isSbomPredicate } from "../../formats/sbom/sbom.ts";
import type { Manifest } from "./manifest.ts";

/** A document in an attestation or artifact. */
export interface SbomDocument {
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
  readonly mediaType: string;
  /** Whether its type says that it is a bill of materials. Otherwise it may be a statement of something else. */
  readonly isDeclared: boolean;
}

/** SPDX and CycloneDX in JSON. The first type of a line is registered, the others are those of cosign. */
const documentTypes = [
  ...["application/spdx+json", "text/spdx+json"],
  ...["application/vnd.cyclonedx+json", "application/vnd.dev.cosign.artifact.sbom.v1+json"],
];
/** in-toto statements, DSSE envelopes, and Sigstore bundles. */
const envelopeTypes =
  /^application\/vnd\.(in-toto(\.(spdx|cyclonedx))?\+(json|dsse)|dsse\.envelope\.v1\+json|dev\.cosign\.artifact\.att\.v1\+json|dev\.sigstore\.bundle(\.v[0-9.]+)?\+json)$/;

/** Whether an artifact may hold bills of materials. A referrer that does not name its type may. */
export function mayHoldSbom({
  artifactType,
  predicateType,
}: {
  readonly artifactType: string | undefined;
  readonly predicateType: string | undefined;
}): boolean {
  if (artifactType === undefined || documentTypes.includes(artifactType)) return true;
  return envelopeTypes.test(artifactType) && (predicateType === undefined || isSbomPredicate(predicateType));
}

/** The documents of a manifest that may be bills of materials. */
export function documentsOf({ layers }: Manifest): SbomDocument[] {
  return layers.flatMap(({ mediaType, digest, size, predicateType }) => {
    if (!mayHoldSbom({ artifactType: mediaType, predicateType })) return [];
    return [{ digest, size, mediaType, isDeclared: documentTypes.includes(mediaType) || predicateType !== undefined }];
  });
}
