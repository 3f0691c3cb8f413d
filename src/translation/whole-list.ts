/** Lists that are answered whole: in parts where the client takes them, in one piece of the wire format elsewhere. */
import { type DescMessage, type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { takesParts } from "../call/index.ts";
import { createBinaryWriter, MessageParts, type StoredMessage, storedMessageMaker } from "../codec/index.ts";
import { resourceExhausted } from "../errors.ts";

/** The largest list in one piece. */
const maxBytes = 8 * 1024 * 1024;

/**
 * Returns a function that answers with the merge of parts of a message. `hint`: what to do about a list that is too
 * large for one piece.
 */
export function wholeListAnswer(
  output: DescMessage,
  hint: string,
): (parts: AsyncIterable<Message>, context: HandlerContext) => MessageParts | Promise<StoredMessage> {
  const write = createBinaryWriter(output);
  const toStored = storedMessageMaker<DataView<ArrayBuffer>>(output, {
    bytes: (view) => ({ view, start: 0, end: view.byteLength }),
    supplied: {},
    message: (view) => fromBinary(output, new Uint8Array(view.buffer)),
  });

  /** In the wire format, messages are merged by joining their bytes. */
  async function joined(parts: AsyncIterable<Message>): Promise<StoredMessage> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const part of parts) {
      const bytes = write(part).slice(); // the writer keeps its buffer
      length += bytes.length;
      if (length > maxBytes)
        throw resourceExhausted(
          "list",
          `the list has more than ${maxBytes} bytes; take it over REST, where it comes in parts${hint}`,
          undefined,
          { limit: String(maxBytes) },
        );
      pieces.push(bytes);
    }
    const all = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return toStored(new DataView(all.buffer));
  }

  return (parts, context) => (takesParts(context) ? new MessageParts(parts) : joined(parts));
}

/** Whether a call asks for a whole list: one of v1, without the id of one item. */
export function isWholeList({ parent, output }: DescMethod, request: Message): boolean {
  if (!parent.file.proto.package.endsWith(".v1")) return false;
  const [items, ...others] = output.fields;
  return items?.fieldKind === "list" && others.length === 0 && !(request as Message & { id?: string }).id;
}
