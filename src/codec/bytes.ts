/** Views of bytes. */

/** A view of the same bytes. */
export function viewOf(bytes: Buffer<ArrayBuffer>): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
