/**
 * Reads the packages in an artifact of a registry: in an attestation manifest, or in the documents that cosign
 * attaches.
 */
import type { Awaitable } from "../awaitable.ts";
import {
  type ContainerRegistry,
  FeedRefusal,
  ForeignRecord,
  type ListedPackage,
  type readSbom,
  type SbomDocument,
} from "../feeds/index.ts";
import type { SbomErrors, SbomReport } from "./sbom-report.ts";

/** How documents are read. */
export interface SbomReading {
  readonly registry: ContainerRegistry;
  /** Reads the packages of a document. */
  read(...args: Parameters<typeof readSbom>): Awaitable<ReturnType<typeof readSbom>>;
  /** Size limit of a document. */
  readonly maxBytes: number;
}

/** Where an artifact is, and what it is about. */
interface ArtifactPlace {
  readonly repository: string;
  readonly digest: string;
  /** The image that it is about, as reports name it. */
  readonly name: string;
  /** Packages that the image may still have. */
  readonly room: number;
}

/** What an artifact has. */
export interface SbomArtifact {
  /** undefined if it has no bill of materials. */
  readonly packages: readonly ListedPackage[] | undefined;
  /** Whether nothing of it was refused. */
  readonly isComplete: boolean;
}

/** Documents in one artifact, and artifacts in an index of these. */
const maxDocuments = 100;

/**
 * Reads an artifact; undefined if the registry does not have it. Documents that cannot be read are reported, and the
 * others are read. Errors: those of the registry about the artifact itself.
 */
export async function readSbomArtifact(
  place: ArtifactPlace,
  reading: SbomReading,
  report: SbomReport,
  errors: SbomErrors,
): Promise<SbomArtifact | undefined> {
  const { repository, name, room } = place;
  const found = await documentsIn(place, reading, report, errors);
  if (found === undefined) return undefined;
  let { isComplete } = found;
  let packages: readonly ListedPackage[] | undefined;
  for (const document of found.documents) {
    const refuse = (path: string, reason: string) => {
      report.refuse(name, `${document.digest}: ${path}: ${reason}`);
      isComplete = false;
    };
    try {
      const bytes = await errors.answerOf(reading.registry.document(repository, document, reading.maxBytes));
      const sbom = await reading.read(bytes, { refuse, unread: (member) => report.unread(member, name) });
      const all = [...(packages ?? []), ...sbom.packages];
      if (all.length > room) throw new FeedRefusal("the image has too many packages");
      report.unversioned(sbom.unversioned);
      packages = all;
    } catch (error) {
      if (error instanceof ForeignRecord && !document.isDeclared) continue; // such as provenance
      errors.refuse(name, error, `${document.digest}: `);
      isComplete = false;
    }
  }
  return { packages, isComplete };
}

/** The documents of an artifact, and of the artifacts in an index. */
async function documentsIn(
  { repository, digest, name }: ArtifactPlace,
  { registry }: SbomReading,
  report: SbomReport,
  errors: SbomErrors,
) {
  const artifact = await errors.answerOf(registry.artifact(repository, digest));
  if (artifact === undefined) return undefined;
  const documents: SbomDocument[] = [...artifact.documents];
  let isComplete = true;
  for (const part of artifact.manifests.slice(0, maxDocuments)) {
    try {
      documents.push(...((await errors.answerOf(registry.artifact(repository, part)))?.documents ?? []));
    } catch (error) {
      errors.refuse(name, error, `${part}: `);
      isComplete = false;
    }
  }
  if (artifact.manifests.length > maxDocuments || documents.length > maxDocuments) {
    report.refuse(name, `${digest}: has more than ${maxDocuments} documents`);
    isComplete = false;
  }
  return { documents: documents.slice(0, maxDocuments), isComplete };
}
