/**
 * Reads the packages in an artifact of a registry: in an attestation manifest, or in the documents that cosign
 * attaches.
 */
import type { Awaitable } from "../awaitable.ts";
import {
  type ContainerRegistry,
  FeedRefusal,
  ForeignRecord,
  type readSbom,
  type SbomDocument,
} from "../feeds/index.ts";
import {
  DocumentNotes,
  type ImageSbom,
  joinedLists,
  packDocument,
  type SbomDocumentToSave,
} from "../services/index.ts";
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
  /** Bytes of compressed documents that may still be kept of the image. */
  readonly documentRoom: number;
}

/** What an artifact has. */
export interface SbomArtifact {
  /** undefined if it has no bill of materials. */
  readonly sbom: ImageSbom | undefined;
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
  const { repository, digest, name, room } = place;
  let { documentRoom } = place;
  const found = await documentsIn(place, reading, report, errors);
  if (found === undefined) return undefined;
  let { isComplete } = found;
  const lists: ImageSbom[] = [];
  const documents: SbomDocumentToSave[] = [];
  let count = 0;
  for (const document of found.documents) {
    const notes = new DocumentNotes();
    const refuse = (path: string, reason: string) => {
      report.refuse(name, `${document.digest}: ${path}: ${reason}`);
      notes.refuse(path, reason);
      isComplete = false;
    };
    const unread = (member: string) => {
      report.unread(member, name);
      notes.unread(member);
    };
    try {
      const bytes = await errors.answerOf(reading.registry.document(repository, document, reading.maxBytes));
      const sbom = await reading.read(bytes, { refuse, unread });
      if (count + sbom.packages.length > room) throw new FeedRefusal("the image has too many packages");
      count += sbom.packages.length;
      report.unversioned(sbom.unversioned);
      const { packages, unmatched, dependencies } = sbom;
      lists.push({ packages, unmatched, dependencies });
      const packed = await packDocument(bytes, sbom, notes, { mediaType: document.mediaType, source: digest });
      documentRoom -= packed?.file.length ?? 0;
      if (packed !== undefined && documentRoom >= 0) documents.push(packed);
      else report.unread("the document itself, which is too large to be kept", name);
    } catch (error) {
      if (error instanceof ForeignRecord && !document.isDeclared) continue; // such as provenance
      errors.refuse(name, error, `${document.digest}: `);
      isComplete = false;
    }
  }
  return { sbom: lists.length === 0 ? undefined : { ...joinedLists(lists), documents }, isComplete };
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
