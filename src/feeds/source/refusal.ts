/** A record, or a whole file, is not accepted. The message is the reason. */
export class FeedRefusal extends Error {
  override readonly name = "FeedRefusal";
}
