/**
 * Documents of Maven repositories: `maven-metadata.xml` with all versions of an artifact
 * (maven.apache.org/repository/metadata.html), and POMs of one version (maven.apache.org/pom.html). A POM without a
 * group or a version inherits those of its parent. A description that contains properties (`${project.name}`) is
 * ignored.
 *
 * Neither has the time of a release: `lastUpdated` is the time of the list.
 */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { Fields, ignoredMembers, type Unread } from "../records/fields.ts";
import { parseXml } from "../records/xml.ts";
import { ForeignRecord } from "../source/refusal.ts";
import { type ArtifactRecord, checkName, checkVersion, cutDescription, maxVersions } from "./artifact-record.ts";

/** The artifact of a document of a Maven repository. */
interface MavenRecord extends ArtifactRecord {
  /** The version whose POM describes the artifact. */
  readonly release?: string;
}

/** All other elements of both documents. Attributes are not read. */
const ignored = ignoredMembers({
  metadata: "artifactId groupId plugins version versioning",
  "metadata.versioning": "lastUpdated latest release snapshot snapshotVersions versions",
  project: `
    build ciManagement contributors dependencies dependencyManagement developers distributionManagement groupId
    inceptionYear issueManagement licenses mailingLists modelVersion modules name organization packaging
    pluginRepositories prerequisites profiles properties reporting reports repositories scm url version`,
  "project.parent": "artifactId groupId relativePath version",
});

const maxTextLength = 1024 * 1024;
const versionsPath = "metadata.versioning.versions.version";

/**
 * The artifact of a `maven-metadata.xml` or a POM; undefined for metadata of a group or a snapshot, which have no
 * versions. Errors: FeedRefusal; ForeignRecord for another document.
 */
export async function readMavenDocument(bytes: Uint8Array, unread: Unread): Promise<MavenRecord | undefined> {
  const root = new Fields(await parseXml(bytes, new Set([versionsPath])));
  const record = readRoot(root);
  root.reportUnread(ignored, unread);
  return record;
}

function readRoot(root: Fields): MavenRecord | undefined {
  if (root.has("metadata")) return readMetadata(root.object("metadata"));
  const project = childOf(root, "project");
  // The build files of Ant, among others, have the element too.
  if (project?.has("groupId") || project?.has("artifactId")) return readPom(project);
  throw new ForeignRecord("is neither maven-metadata.xml nor a POM");
}

function readMetadata(metadata: Fields): MavenRecord | undefined {
  const versioning = childOf(metadata, "versioning");
  if (versioning === undefined || !versioning.has("versions")) return undefined;
  const release = textOf(versioning, "release") ?? textOf(versioning, "latest");
  const versions = childOf(versioning, "versions")?.texts("version", {
    maxItems: maxVersions,
    maxLength: maxTextLength,
  });
  return {
    ecosystem: Ecosystem.JAVA,
    name: nameOf(requiredText(metadata, "groupId"), requiredText(metadata, "artifactId")),
    ...(release !== undefined && { release }),
    isWhole: true,
    versions: [...new Set(versions?.map((version) => version.trim()))].map((version) => ({
      version: checkVersion(version),
    })),
  };
}

function readPom(project: Fields): ArtifactRecord {
  const parent = childOf(project, "parent");
  const inherited = (name: string) => {
    const holder = textOf(project, name) === undefined && parent !== undefined ? parent : project;
    const text = requiredText(holder, name);
    if (hasProperties(text)) throw holder.refusal(name, `${JSON.stringify(text)} is a property, which is not resolved`);
    return text;
  };
  const text = textOf(project, "description") ?? textOf(project, "name");
  const description = text === undefined || hasProperties(text) ? undefined : cutDescription(text.replace(/\s+/g, " "));
  return {
    ecosystem: Ecosystem.JAVA,
    name: nameOf(inherited("groupId"), requiredText(project, "artifactId")),
    ...(description !== undefined && { description }),
    isWhole: false,
    versions: [{ version: checkVersion(inherited("version")), ...(description !== undefined && { description }) }],
  };
}

function nameOf(groupId: string, artifactId: string): string {
  return checkName(`${groupId}:${artifactId}`);
}

/** A child with children; undefined if it is empty or absent. */
function childOf(fields: Fields, name: string): Fields | undefined {
  return fields.isText(name) ? undefined : fields.optionalObject(name);
}

/** The text of a child; undefined if it is empty or absent. */
function textOf(fields: Fields, name: string): string | undefined {
  return fields.optionalText(name, maxTextLength)?.trim() || undefined;
}

function requiredText(fields: Fields, name: string): string {
  const text = textOf(fields, name);
  if (text === undefined) throw fields.refusal(name, "is missing");
  return text;
}

function hasProperties(text: string): boolean {
  return text.includes("${");
}
