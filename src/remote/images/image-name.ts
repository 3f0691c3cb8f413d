/** Images as people name them: `REPO:TAG` or `REPO@DIGEST`, the repo by its uid, its name or the end of its path. */
import { createClient } from "@connectrpc/connect";
import { ReposService } from "../../../gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "../../../gen/platform/registry/v2/tags_pb.ts";
import { CommandFailure } from "../../command/index.ts";
import { isUid } from "../../uid.ts";
import { uidOf } from "../documents/lookup.ts";
import type { Session } from "../session/session.ts";

/** An image of a server. */
export interface NamedImage {
  /** The uid of the repo. */
  readonly repo: string;
  readonly digest: string;
}

const repoType = "registry.platform.internal/Repo";

/** Finds an image. A uid and a digest need no call. Errors: CommandFailure; PlatformError. */
export async function findImage(session: Session, text: string): Promise<NamedImage> {
  const parts = partsOf(text);
  if (parts === undefined || parts.repo === "")
    throw new CommandFailure(`${text}: name an image as REPO:TAG or REPO@DIGEST`, 2);
  const repo = await repoOf(session, parts.repo);
  const name = parts.rest.slice(1);
  if (parts.rest.startsWith("@")) {
    if (!/^sha256:[0-9a-f]{64}$/.test(name))
      throw new CommandFailure(`${text}: the digest must be sha256: and 64 lower-case hex digits`, 2);
    return { repo, digest: name };
  }
  const { tags } = await createClient(TagsService, session.transport).listTags({ uidp: { childrenOf: repo }, name });
  const [tag] = tags;
  if (tag === undefined || tag.digest === "") throw new CommandFailure(`${text}: the repo has no tag ${name}`, 3);
  return { repo, digest: tag.digest };
}

/**
 * The name of an image with the uid of its repo. Without a repo, or in another form, the text itself: the server says
 * what is wrong with it. Errors: those of {@link findImage} for a repo.
 */
export async function withRepoUid(session: Session, text: string): Promise<string> {
  const parts = partsOf(text);
  return parts === undefined || parts.repo === "" ? text : `${await repoOf(session, parts.repo)}${parts.rest}`;
}

/** A name, taken apart: `rest` is `:1.4` or `@sha256:…`; undefined for another form. */
function partsOf(text: string): { readonly repo: string; readonly rest: string } | undefined {
  const at = text.indexOf("@");
  const end = at >= 0 ? at : text.lastIndexOf(":");
  return end < 0 || text.includes("/", end) ? undefined : { repo: text.slice(0, end), rest: text.slice(end) };
}

async function repoOf(session: Session, text: string): Promise<string> {
  if (isUid(text)) return text;
  // A name may have slashes, which paths have, too.
  const { repos } = await createClient(ReposService, session.transport).listRepos({ name: text });
  return repos.length === 1 ? repos[0]!.uid : uidOf(session, repoType, text);
}
