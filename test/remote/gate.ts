/** A proxy that holds calls of one method back, so that a test can act in the middle of a command. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A proxy in front of a server, for one test. */
export interface Gate {
  readonly baseUrl: string;
  /** Resolves when calls are held back. */
  readonly reached: Promise<void>;
  /** Lets the calls that are held back and all others pass, also after `cut`. */
  open(): Promise<void>;
  /** Ends all connections, and refuses new ones. */
  cut(): void;
}

/** Starts a proxy that lets `count` calls pass whose path ends with `method`, and holds back further ones. */
export async function startGate(target: string, method: string, count: number): Promise<Gate> {
  const held: (() => void)[] = [];
  let left = count;
  let markReached = () => {};
  const reached = new Promise<void>((resolve) => {
    markReached = resolve;
  });
  const forward = (incoming: IncomingMessage, answer: ServerResponse) => {
    const { method: verb, headers } = incoming;
    const outgoing = request(new URL(incoming.url!, target), { method: verb!, headers }, (response) => {
      answer.writeHead(response.statusCode!, response.headers);
      response.pipe(answer);
    });
    outgoing.on("error", () => answer.destroy());
    incoming.pipe(outgoing);
  };
  const proxy = createServer((incoming, answer) => {
    if (!incoming.url!.endsWith(method) || left-- > 0) return forward(incoming, answer);
    held.push(() => forward(incoming, answer));
    markReached();
  });
  const listen = async (wanted: number) => {
    proxy.listen(wanted, "127.0.0.1");
    await once(proxy, "listening");
    return (proxy.address() as AddressInfo).port;
  };
  const cut = () => {
    held.length = 0;
    proxy.close();
    proxy.closeAllConnections();
  };
  const port = await listen(0);
  onTestFinished(cut);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    reached,
    async open() {
      left = Number.POSITIVE_INFINITY;
      if (!proxy.listening) await listen(port);
      for (const pass of held.splice(0)) pass();
    },
    cut,
  };
}
