import type { Message } from "@bufbuild/protobuf";

/**
 * A message in parts, for one that must not be in memory as a whole: the message is their merge, which for a list is
 * all items in order. A part is made when the one before has been taken.
 */
export class MessageParts {
  readonly parts: AsyncIterable<Message>;

  constructor(parts: AsyncIterable<Message>) {
    this.parts = parts;
  }
}
