/**
 * Documents of PyPI's JSON API (PyPI documentation, "JSON API"): a project with all `releases`, `/pypi/NAME/json`, or
 * one release with its files in `urls`, `/pypi/NAME/VERSION/json`. The time of a release is that of its oldest file,
 * its size is the sum of its files. It is yanked (PEP 592) if all its files are, with the reason of the first one.
 */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { type Fields, ignoredMembers } from "../records/fields.ts";
import {
  type ArtifactRecord,
  checkName,
  checkVersion,
  cutDescription,
  maxVersions,
  type VersionRecord,
} from "./artifact-record.ts";

const fileMembers = `
  comment_text core-metadata data-dist-info-metadata digests downloads filename has_sig md5_digest packagetype
  provenance python_version requires_python size upload_time upload_time_iso_8601 url yanked yanked_reason`;

/** All other members. Some are read only in one of the two kinds of documents. */
export const pypiIgnored = ignoredMembers({
  "": "last_serial ownership urls vulnerabilities",
  info: `
    author author_email bugtrack_url classifiers description description_content_type docs_url download_url downloads
    dynamic home_page keywords license license_expression license_files maintainer maintainer_email package_url platform
    project_url project_urls provides_extra release_url requires_dist requires_python version yanked yanked_reason`,
  "releases.*[]": fileMembers,
  "urls[]": fileMembers,
});

const maxTextLength = 1024 * 1024;
const maxFiles = 10_000;

/** Whether a record seems to be a document of the JSON API. */
export function isPypiDocument(record: Fields): boolean {
  return record.has("info") && (record.has("releases") || record.has("urls"));
}

/** Reads the artifact of a document. Errors: FeedRefusal. */
export function readPypiDocument(record: Fields): ArtifactRecord {
  const info = record.object("info");
  const summary = info.optionalText("summary", maxTextLength);
  const releases = record.optionalMap("releases");
  if (releases !== undefined && releases.names.length > maxVersions)
    throw record.refusal("releases", `has more than ${maxVersions} releases`);
  return {
    ecosystem: Ecosystem.PYTHON,
    name: checkName(info.text("name", maxTextLength)),
    ...(summary !== undefined && { description: cutDescription(summary) }),
    isWhole: releases !== undefined,
    versions:
      releases === undefined
        ? [readRelease(info.text("version", maxTextLength), record.objects("urls", maxFiles))]
        : releases.names.map((version) => readRelease(version, releases.objects(version, maxFiles))),
  };
}

function readRelease(version: string, files: readonly Fields[]): VersionRecord {
  const times = files.flatMap((file) => file.optionalTimeMs("upload_time_iso_8601") ?? []);
  const yanked = files.length > 0 && files.every((file) => file.optionalFlag("yanked") === true);
  const reason = yanked ? (files[0]!.optionalText("yanked_reason", maxTextLength) ?? "") : "";
  return {
    version: checkVersion(version),
    description: cutDescription(reason),
    ...(times.length > 0 && { createTimeMs: times.reduce((least, time) => Math.min(least, time)) }),
    sizeBytes: files.reduce((sum, file) => sum + (file.optionalCount("size") ?? 0), 0),
    yanked,
  };
}
