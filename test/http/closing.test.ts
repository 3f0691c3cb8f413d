import { once } from "node:events";
import { type ClientRequest, request as request1, type ServerResponse } from "node:http";
import { connect as connect2 } from "node:http2";
import { request as request1s } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { OnePortOptions } from "../../src/http/port.ts";
import type { PortResponse } from "../../src/message/index.ts";
import { certificate, onFastPath, openPort, variants } from "./open-port.ts";

describe.each(variants)("closing the port, $variant", ({ secure, fastPath }) => {
  /** A port whose handler leaves the response to the test. */
  async function openHolding() {
    const held: PortResponse[] = [];
    const onRequest: OnePortOptions["onRequest"] = (_request, response) => void held.push(response);
    const opened = await openPort(secure, {
      limits: { lingerMs: 100 },
      onRequest,
      ...(fastPath ? onFastPath({ onRequest }) : { http2: "node" as const }),
    });
    return { ...opened, held };
  }

  function get1(origin: string): ClientRequest {
    const headers = { connection: "keep-alive" };
    return (secure ? request1s : request1)(origin, { ca: certificate.cert, agent: false, headers }).end();
  }

  it("lets calls in flight finish, on both protocols, and then ends their connections", async () => {
    const { port, origin, held } = await openHolding();
    const call1 = get1(origin);
    const answer1 = once(call1, "response");
    const client = connect2(origin, { ca: certificate.cert });
    const call2 = client.request({ ":path": "/" });
    const goaway = once(client, "goaway");
    await expect.poll(() => held.length).toBe(2);

    const closed = port.close({ graceMs: 10_000 });
    await goaway;
    for (const response of held) response.end("finished");

    const [response1] = await answer1;
    expect(response1.headers.connection).toBe("close");
    expect(await text(response1)).toBe("finished");
    expect(await text(call2)).toBe("finished");
    await closed;
  });

  it("ends a keep-alive connection whose headers were already out", async () => {
    const { port, dial, held } = await openHolding();
    const { socket, received, closed: gone } = await dial();
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => held.length).toBe(1);
    (held[0] as ServerResponse).write("first,");
    await expect.poll(received).toContain("first,");
    const closed = port.close({ graceMs: 10_000 });
    held[0]?.end("last");
    expect(await gone).toContain("last");
    await closed;
  });

  it("serves on while it drains, and says that each connection on HTTP/1.1 ends with its answer", async () => {
    const { port, origin, held, dial } = await openHolding();
    const client = connect2(origin, { ca: certificate.cert });
    await once(client, "remoteSettings");
    const early = get1(origin);
    await expect.poll(() => held.length).toBe(1);
    const { socket, closed: idle } = await dial();
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => held.length).toBe(2);
    held[1]?.end("first");

    port.drain();
    const late = get1(origin);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const stream = client.request({ ":path": "/" });
    await expect.poll(() => held.length).toBe(5);
    for (const response of held) response.end("done");
    for (const call of [early, late]) {
      const [answer] = await once(call, "response");
      expect(answer.headers.connection).toBe("close");
      expect(await text(answer)).toBe("done");
    }
    expect((await idle).match(/connection: [\w-]+/gi)?.map((line) => line.toLowerCase())).toEqual([
      "connection: keep-alive",
      "connection: close",
    ]);
    expect(await text(stream)).toBe("done");
    expect(client.closed).toBe(false);
    await port.close({ graceMs: 10_000 });
  });

  it("serves the connections that it has not accepted yet, and first requests on those that are new", async () => {
    const { port, number, origin } = await openPort(secure, fastPath ? onFastPath({}) : { http2: "node" });
    const clients = Array.from({ length: 50 }, () => get1(origin));
    const silent = connect({ host: "127.0.0.1", port: number });
    await once(silent, "connect");
    const answers = clients.map(async (call) => (await once(call, "response"))[0].statusCode);
    const closed = port.close({ graceMs: 10_000 });
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
    silent.destroy();
    await closed;
  });

  /** A connection on which a request has been answered, and that is kept open. */
  async function openIdle({ dial, held }: Awaited<ReturnType<typeof openHolding>>) {
    const connection = await dial();
    connection.socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => held.length).toBe(1);
    held.pop()?.end("first");
    await expect.poll(connection.received).toContain("first");
    return connection;
  }

  it("refuses new connections before it ends the others, each with its next answer", async () => {
    const opened = await openHolding();
    const { port, held, dial } = opened;
    const kept = await openIdle(opened);
    const closed = port.close({ graceMs: 60_000, idleMs: 60_000 }); // longer than the test may take
    await expect
      .poll(
        () =>
          dial().then(
            ({ socket }) => void socket.destroy(),
            (error) => error.code,
          ),
        { interval: 50 },
      )
      .toBe("ECONNREFUSED");
    expect(kept.socket.readableEnded).toBe(false);
    kept.socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => held.length).toBe(1);
    held[0]?.end("second");
    const received = await kept.closed;
    expect(received).toContain("second");
    expect(received.match(/^connection: [\w-]+/gim)?.map((line) => line.toLowerCase())).toEqual([
      "connection: keep-alive",
      "connection: close",
    ]);
    await closed;
  });

  it("lets clients close idle connections first, and is closed with the last one", async () => {
    const opened = await openHolding();
    const kept = await openIdle(opened);
    const silent = await opened.dial();
    const closed = opened.port.close({ graceMs: 60_000, idleMs: 60_000 });
    for (const { socket } of [kept, silent]) socket.end();
    await closed;
  });

  it("ends connections that have been idle for long enough", async () => {
    const opened = await openHolding();
    const idle = [await openIdle(opened), await opened.dial(), await opened.dial(null)];
    await opened.port.close({ graceMs: 60_000, idleMs: 100 });
    await Promise.all(idle.map((connection) => connection.closed));
  });

  it("closes idle connections of every kind at once", async () => {
    const { port, origin, held, dial } = await openHolding();
    const silent = [await dial("http/1.1"), await dial("h2"), await dial(null)];
    const halfHeader = await dial();
    halfHeader.socket.write("GET / HT");
    const used = await dial();
    used.socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => held.length).toBe(1);
    held[0]?.end("done");
    await expect.poll(used.received).toContain("done");
    const client = connect2(origin, { ca: certificate.cert });
    await once(client, "remoteSettings");

    await port.close({ graceMs: 20_000 });
    await Promise.all([...silent, halfHeader, used].map((connection) => connection.closed));
  });

  it("destroys what is left when the grace is over", async () => {
    const { port, origin, held } = await openHolding();
    const call1 = get1(origin);
    const failed1 = once(call1, "response").catch((error) => error);
    const client = connect2(origin, { ca: certificate.cert });
    client.on("error", () => {});
    const call2 = client.request({ ":path": "/" });
    let answered = false;
    call2.on("response", () => {
      answered = true;
    });
    call2.on("error", () => {});
    await expect.poll(() => held.length).toBe(2);
    await port.close({ graceMs: 50 });
    expect(await failed1).toBeInstanceOf(Error);
    if (!call2.closed) await once(call2, "close");
    expect(answered).toBe(false);
  });

  it("accepts nothing new", async () => {
    const { port, number, dial } = await openHolding();
    await port.close({ graceMs: 0 });
    expect(number).toBeGreaterThan(0);
    await expect(dial()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
