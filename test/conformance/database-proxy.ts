/** A TCP proxy before a database server, which fails as networks and servers do. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A way to a database that a test can break. */
export interface DatabaseProxy {
  /** The address of the database through it. */
  readonly url: string;
  /** Refuses connections and cuts those that are there, as a server that has been stopped. */
  refuse(): Promise<void>;
  /** Accepts connections and bytes, and hands nothing on, as a server that hangs. */
  hang(): void;
  /** Cuts the connections that are there; new ones are accepted. */
  cut(): void;
  /** Cuts the connection of the next COMMIT when the server has answered it, before the client hears of it. */
  loseNextCommit(): void;
  /** Is well again. */
  mend(): Promise<void>;
}

/** Opens a proxy to the database at `target` for one test. */
export async function openProxy(target: string): Promise<DatabaseProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isHanging = false;
  let losesCommit = false;
  let number = 0;
  let server: Server | undefined;

  function accept(client: Socket): void {
    const upstream = connect(Number(port), hostname);
    let losesAnswer = false;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      if (isHanging) from.pause();
      from.on("data", (chunk) => {
        if (from === client && losesCommit && chunk.includes("commit\0")) {
          losesCommit = false;
          losesAnswer = true;
        }
        if (from === upstream && losesAnswer) client.destroy();
        else to.write(chunk);
      });
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }

  async function listen(): Promise<void> {
    server = createServer(accept).listen(number, "127.0.0.1");
    await once(server, "listening");
    number = (server.address() as AddressInfo).port;
  }

  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }

  async function refuse(): Promise<void> {
    const closed = server && once(server, "close");
    server?.close();
    server = undefined;
    cut();
    await closed;
  }

  await listen();
  onTestFinished(refuse);
  const url = new URL(target);
  url.host = `127.0.0.1:${number}`;
  return {
    url: url.href,
    refuse,
    hang() {
      isHanging = true;
      for (const socket of sockets) socket.pause();
    },
    cut,
    loseNextCommit() {
      losesCommit = true;
    },
    async mend() {
      isHanging = false;
      for (const socket of sockets) socket.resume();
      if (server === undefined) await listen();
    },
  };
}
