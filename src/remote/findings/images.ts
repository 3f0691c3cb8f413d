/** Images by their names. */
import type { Message } from "@bufbuild/protobuf";
import { contractRegistry } from "../catalog/descriptors.ts";
import { findImage } from "../images/image-name.ts";
import { callMethod } from "../session/call.ts";
import type { Session } from "../session/session.ts";

/** The service of images. */
export function imagesService() {
  return contractRegistry().getService("platform.findings.v1.ImagesService")!;
}

/** The image with a name. Errors: those of `findImage`; PlatformError. */
export async function getImage(session: Session, text: string): Promise<Message> {
  return callMethod(session, imagesService().method.getImage!, await findImage(session, text));
}
