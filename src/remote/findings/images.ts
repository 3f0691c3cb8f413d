/** Images as people name them: `REPO:TAG`, `REPO@DIGEST`. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { Image } from "../../../gen/platform/findings/v1/images_pb.ts";
import { CommandFailure } from "../../command/index.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { uidOf } from "../documents/lookup.ts";
import { callMethod } from "../session/call.ts";
import type { Session } from "../session/session.ts";

const repoType = "registry.platform.internal/Repo";

/** An image name, taken apart. */
interface ImageName {
  /** A uid, a name or a path; "" for none. */
  readonly repo: string;
  /** `:1.4` or `@sha256:…`. */
  readonly rest: string;
}

/** The service of images. */
export function imagesService() {
  return contractRegistry().getService("platform.findings.v1.ImagesService")!;
}

/** Whether the values of a field name images: `REPO:TAG`, `REPO@DIGEST`. */
export function namesImage({ name, parent }: DescField): boolean {
  return parent.file.proto.package === "platform.findings.v1" && ["image", "base", "target"].includes(name);
}

/** Whether messages of a type are images. */
export function isImage(schema: DescMessage | undefined): boolean {
  return schema?.typeName === "platform.findings.v1.Image";
}

/**
 * The name of an image with the uid of its repo in the place of its name or path; without a repo, or in another form,
 * the text itself: the server says what is wrong with it. Errors: those of `uidOf`.
 */
export async function withRepoUid(session: Session, text: string): Promise<string> {
  const name = parseImageName(text);
  if (name === undefined || name.repo === "") return text;
  return `${await uidOf(session, repoType, name.repo)}${name.rest}`;
}

/** The image with a name. Errors: CommandFailure for another form, and if no image has the name. */
export async function getImage(session: Session, text: string): Promise<Message> {
  const name = parseImageName(text);
  if (name === undefined || name.repo === "")
    throw new CommandFailure(`an image is named REPO:TAG or REPO@DIGEST, not ${text}`, 2);
  const repo = await uidOf(session, repoType, name.repo);
  const { getImage: get, listImages: list } = imagesService().method;
  const value = name.rest.slice(1);
  if (name.rest.startsWith("@")) return callMethod(session, get!, { repo, digest: value });
  const page = (await callMethod(session, list!, { repo, tags: [value] })) as Message & { readonly images: Image[] };
  if (page.images[0] === undefined) throw new CommandFailure(`no image is named ${text}`, 3);
  return page.images[0];
}

/** A digest has a colon itself, and the names of repos may have one with a port. */
function parseImageName(text: string): ImageName | undefined {
  const at = text.indexOf("@");
  const end = at >= 0 ? at : text.lastIndexOf(":");
  if (end < 0 || text.indexOf("/", end) >= 0) return undefined;
  return { repo: text.slice(0, end), rest: text.slice(end) };
}
