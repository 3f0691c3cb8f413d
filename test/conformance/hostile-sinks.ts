/**
 * Ten sinks, each with something wrong about it, as a program of its own: it prints their addresses, one JSON list on a
 * line, and when its input ends, how often each was asked.
 */
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

const overHttp: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "never answers": () => {},
  "a byte a second": (response) => {
    const timer = setInterval(() => response.write("x"), 1000);
    response.once("close", () => clearInterval(timer));
  },
  "a gigabyte": (response) => {
    const piece = Buffer.alloc(1024 * 1024);
    let left = 1024;
    const more = () => {
      while (left-- > 0) if (!response.write(piece)) return void response.once("drain", more);
      response.end();
    };
    more();
  },
  "redirects to itself": (response) => response.writeHead(307, { location: "/" }).end(),
  "answers 500": (response) => response.writeHead(500).end(),
};

const overTcp: Readonly<Record<string, (socket: Socket) => void>> = {
  resets: (socket) => socket.once("data", () => socket.resetAndDestroy()),
  "stops in its headers": (socket) => socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nx-")),
  "no HTTP": (socket) => socket.once("data", () => socket.write("?".repeat(100_000))),
  "breaks TLS": (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
};

const asked = new Map<string, number>();
const ask = (name: string) => asked.set(name, (asked.get(name) ?? 0) + 1);

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const addresses: string[] = [];
for (const [name, answer] of Object.entries(overHttp)) {
  const server = createHttpServer((request, response) => {
    ask(name);
    request.resume();
    answer(response);
  });
  addresses.push(`http://${await listen(server)}`);
}
for (const [name, treat] of Object.entries(overTcp)) {
  const server = createServer((socket) => {
    ask(name);
    socket.on("error", () => {});
    treat(socket);
  });
  addresses.push(`${name === "breaks TLS" ? "https" : "http"}://${await listen(server)}`);
}
const closed = createServer();
addresses.push(`http://${await listen(closed)}`);
closed.close();

console.log(JSON.stringify(addresses));
process.stdin.resume().once("end", () => {
  console.log(JSON.stringify(Object.fromEntries(asked)));
  process.exit();
});
