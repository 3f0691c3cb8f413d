/** The handler in Express, Fastify and Koa, through a port. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRestHandler, type RestOptions, restMiddleware, restPlugin } from "../../../src/rest/index.ts";
import { type Any, library, registry } from "../fixture.ts";
import { seen, transport } from "../service.ts";

const options: RestOptions = { transport, services: [library], registry };

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Each framework with the handler, a route of its own at `/own`, and what it says for other paths. */
const frameworks: Record<string, () => Promise<string>> = {
  Express() {
    const app = express();
    app.use(createRestHandler(options));
    app.get("/own", (_, response) => response.json("own"));
    app.use((_, response) => response.status(404).json("none"));
    return listen(app);
  },
  async Fastify() {
    const app = fastify();
    app.register(restPlugin(options));
    app.get("/own", () => '"own"');
    app.setNotFoundHandler((_, reply) => reply.code(404).send('"none"'));
    onTestFinished(() => app.close());
    return app.listen({ host: "127.0.0.1", port: 0 });
  },
  Koa() {
    const app = new Koa();
    app.use(restMiddleware(options));
    app.use((context) => {
      context.status = context.path === "/own" ? 200 : 404;
      context.body = context.path === "/own" ? '"own"' : '"none"';
    });
    return listen(app.callback());
  },
};

const post = (body: string): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});

describe.each(Object.entries(frameworks))("%s", (_, start) => {
  test("serves calls, streams and errors", async () => {
    const origin = await start();
    expect(await (await fetch(`${origin}/v1/repos/a%2Fb`)).json()).toEqual({ uid: "a%2Fb" });
    expect(await (await fetch(`${origin}/v1/repos/g`, post('{"name":"n"}'))).json()).toEqual({
      uid: "g/new",
      name: "n",
    });
    expect(await (await fetch(`${origin}/v1/watch?count=2`)).json()).toEqual([{ name: "0" }, { name: "1" }]);
    const error = await fetch(`${origin}/v1/images/5`);
    expect([error.status, await error.json()]).toEqual([404, { code: 5, message: "error 5", details: [] }]);
    const bad = await fetch(`${origin}/v1/repos/g`, post('{"name":1}'));
    expect([bad.status, ((await bad.json()) as Any).code]).toEqual([400, 3]);
  });

  test("a body of any type reaches a HttpBody", async () => {
    const origin = await start();
    const headers = { "content-type": "image/x-odd" };
    const response = await fetch(`${origin}/v1/files/a`, { method: "PUT", headers, body: "odd" });
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["image/x-odd", "odd"]);
  });

  test("leaves other requests to the framework", async () => {
    const origin = await start();
    expect(await (await fetch(`${origin}/own`)).json()).toBe("own");
    for (const path of ["/other", "/v1/images/1"]) {
      const other = await fetch(origin + path, { method: "PUT" });
      expect([other.status, await other.json()], path).toEqual([404, "none"]);
    }
  });
});

test("Express at a path, and Fastify with a prefix", async () => {
  const app = express();
  app.use("/api", createRestHandler(options));
  const server = fastify();
  const withSlash = fastify();
  server.register(restPlugin(options), { prefix: "/api" });
  withSlash.register(restPlugin(options), { prefix: "/api/" });
  onTestFinished(() => server.close());
  onTestFinished(() => withSlash.close());
  const at = { host: "127.0.0.1", port: 0 };
  for (const origin of [await listen(app), await server.listen(at), await withSlash.listen(at)]) {
    expect(await (await fetch(`${origin}/api/v1/repos/a`)).json()).toEqual({ uid: "a" });
    expect((await fetch(`${origin}/v1/repos/a`)).status).toBe(404);
  }
});

describe("a body that a middleware has read", () => {
  test.each([
    ["parsed JSON", express.json()],
    ["text", express.text({ type: "*/*" })],
    ["bytes", express.raw({ type: "*/*" })],
  ])("is understood as %s", async (__, parser) => {
    const app = express();
    app.use(parser, createRestHandler(options));
    const origin = await listen(app);
    expect(await (await fetch(`${origin}/v1/repos/g`, post('{"name":"é"}'))).json()).toEqual({
      uid: "g/new",
      name: "é",
    });
    const bad = await fetch(`${origin}/v1/repos/g`, post('{"nope":1}'));
    expect([bad.status, ((await bad.json()) as Any).message]).toEqual([400, "Invalid argument: nope: unknown field"]);
  });

  test.each([
    ["text", express.text({ type: "*/*" })],
    ["bytes", express.raw({ type: "*/*" })],
  ])("is understood as %s of a client stream", async (__, parser) => {
    const app = express();
    app.use(parser, createRestHandler(options));
    const headers = { "content-type": "application/x-ndjson" };
    const body = '{"name":"a"}\n{"name":"b"}\n';
    const response = await fetch(`${await listen(app)}/v1/collect/d`, { method: "POST", headers, body });
    expect(((await response.json()) as Any).repos).toHaveLength(2);
  });

  test("is understood from Koa's request.body", async () => {
    const app = new Koa();
    app.use(async (context, next) => {
      let text = "";
      for await (const chunk of context.req) text += chunk;
      Object.assign(context.request, { body: JSON.parse(text) });
      await next();
    });
    app.use(restMiddleware(options));
    const origin = await listen(app.callback());
    expect(await (await fetch(`${origin}/v1/repos/g`, post('{"name":"n"}'))).json()).toEqual({
      uid: "g/new",
      name: "n",
    });
  });

  test.each([
    ['{"int64Value":9007199254740993}', 400, "Invalid argument: an integer beyond 2^53 must be given as a string"],
    ['{"int64Value":"9007199254740993"}', 200, undefined],
    ['{"doubleValue":1.5}', 200, undefined],
    ['{"doubleValue":1e400}', 400, "Invalid argument: a number is beyond double precision"],
    ['{"doubleValue":-1e400}', 400, "Invalid argument: a number is beyond double precision"],
  ])("%s is exact or refused", async (body, status, message) => {
    const app = express();
    app.use(express.json(), createRestHandler(options));
    const response = await fetch(`${await listen(app)}/v1/echo`, post(body));
    expect([response.status, ((await response.json()) as Any).message]).toEqual([status, message]);
  });

  test.each([true, false])("is refused if JSON was read as a form, and understood as JSON: %s", async (isForm) => {
    const app = express();
    const parser = isForm ? express.urlencoded({ extended: true }) : express.json({ type: "*/*" });
    app.use(parser, createRestHandler({ ...options, ignoreUnknownFields: true }));
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const body = '{"name":"n"}';
    const response = await fetch(`${await listen(app)}/v1/repos/g`, { method: "POST", headers, body });
    expect([response.status, await response.json()]).toEqual(
      isForm
        ? [500, { code: 13, message: expect.stringContaining("read JSON as a form"), details: [] }]
        : [200, { uid: "g/new", name: "n" }],
    );
  });

  test("is refused clearly if it is gone, or parsed where bytes are needed", async () => {
    const handler = createRestHandler(options);
    const gone = await listen(async (request, response) => {
      for await (const _ of request);
      await handler(request, response);
    });
    const app = express();
    app.use(express.json({ type: "*/*" }), createRestHandler(options));
    const parsed = await listen(app);
    for (const [origin, path, method] of [
      [gone, "/v1/repos/g", "POST"],
      [parsed, "/v1/files/a", "PUT"],
    ]) {
      seen.message = undefined;
      const response = await fetch(origin! + path, { ...post("{}"), method: method! });
      expect([response.status, ((await response.json()) as Any).message]).toEqual([
        500,
        "Internal error: a middleware has read the body. The REST handler must come before it",
      ]);
      expect(seen.message).toBeUndefined();
    }
  });

  test("is refused where the method takes none, and above the limit", async () => {
    const app = express();
    app.use(express.json(), createRestHandler({ ...options, limits: { maxBodyBytes: 10 } }));
    const origin = await listen(app);
    expect((await fetch(`${origin}/v1/images/1:undelete`, post('{"a":1}'))).status).toBe(400);
    expect((await fetch(`${origin}/v1/repos/g`, post('{"name":"long"}'))).status).toBe(413);
  });
});
