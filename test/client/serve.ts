/** Servers that answer what a test wants. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A server that ends with the test. Returns its URL. */
export async function serve(listener: RequestListener): Promise<string> {
  const other = createServer(listener);
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close().closeAllConnections());
  return `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
}
