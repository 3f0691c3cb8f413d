/** Certificates of clients, from the outside: who may connect, and as whom a call without a token is made. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { Agent, fetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { certificateIssuer } from "../../src/auth/index.ts";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import { type CertificateInit, certificateOf, selfSigned, type TestCertificate } from "../http/self-signed.ts";
import { type PlatformProcess, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";

const authority = { name: "authority", certificate: certificateOf({ name: "authority", purpose: "authority" }) };
const stranger = { name: "stranger", certificate: certificateOf({ name: "stranger", purpose: "authority" }) };
const server = selfSigned();

const client = (subject: string, more: CertificateInit = {}) =>
  certificateOf({ name: "client", by: authority, purpose: "client", altNames: [["uri", subject]], ...more });
const build = client("spiffe://example.com/build");

interface Running {
  readonly process: PlatformProcess;
  readonly folder: string;
  readonly token: string;
}

/** Starts a server that asks for certificates. */
async function start(...flags: string[]): Promise<Running> {
  const folder = await temporaryFolder();
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  write("cert.pem", server.cert);
  write("key.pem", server.key);
  write("ca.pem", authority.certificate.cert);
  const tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--tls-client-ca", "ca.pem"];
  const process = await startPlatformForTest(
    [...settingsIn(folder).serve, ...tls, "--init-token-file", "token", "--log-level", "debug", ...flags],
    { cwd: folder },
  );
  await expect.poll(process.stdout).toContain("token");
  return { process, folder, token: readFileSync(join(folder, "token"), "utf8").trim() };
}

/** A client of a server. Each has connections of its own. */
function clientOf({ process }: Running, certificate?: TestCertificate, allowH2 = false) {
  const { cert, key } = certificate ?? {};
  const agent = new Agent({
    allowH2,
    connect: { ca: server.cert, servername: "localhost", ...(cert && { cert, key }) },
  });
  onTestFinished(() => agent.destroy());
  return async (method: string, path: string, { body, token, headers }: Ask = {}) => {
    const response = await fetch(`${process.baseUrl}${path}`, {
      method,
      dispatcher: agent,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: tests read the members they expect
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as any };
  };
}

interface Ask {
  readonly body?: object;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** A group with an identity that may create repos there, by a rule. */
async function tenant(
  running: Running,
  name: string,
  claimMatch: object,
): Promise<{ group: string; identity: string }> {
  const call = clientOf(running);
  const post = async (path: string, body: object) => {
    const answer = await call("POST", path, { body, token: running.token });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.uid as string;
  };
  const roles = await call("GET", "/iam/v2/roles?name=owner", { token: running.token });
  const { body: root } = await call("GET", "/iam/v2/groups?uidp.in_root=true", { token: running.token });
  const group = await post(`/iam/v2/groups/${root.groups[0].uid}`, { name });
  const identity = await post(`/iam/v2/identities/${group}`, { name: "build", claimMatch });
  await post(`/iam/v2/roleBindings/${group}`, { identityUid: identity, roleUid: roles.body.roles[0].uid });
  return { group, identity };
}

/** The error of a call that cannot connect. */
const refusal = (answer: Promise<unknown>) =>
  answer.then(
    () => "answered",
    (error: Error) => `${error.message}: ${(error.cause as Error | undefined)?.message}`,
  );

const identities = ["--tls-client-identities", "on"];

describe.each([
  ["with the fast paths", []],
  ["with Node's servers", ["--http2", "node", "--fast-path", "off"]],
])("an identity by its certificate, %s", (_name, flags) => {
  test("over every protocol, for the connection of the certificate alone; a header wins", async () => {
    const running = await start("--tls-client-auth", "optional", ...identities, ...flags);
    const unknown = await clientOf(running, build)("GET", "/registry/v2/repos");
    expect(unknown).toMatchObject({
      status: 401,
      body: { message: expect.stringContaining("no identity is that of the client certificate for spiffe://example") },
    });
    const rule = { issuer: certificateIssuer, subject: "spiffe://example.com/build" };
    const { group, identity } = await tenant(running, "tenant", rule);
    await tenant(running, "other-audience", { ...rule, audience: "https://elsewhere.example" });
    const { group: second } = await tenant(running, "other", { ...rule, subject: "spiffe://example.com/other" });

    for (const allowH2 of [false, true]) {
      const call = clientOf(running, build, allowH2);
      const create = (body: object) => call("POST", `/registry/v2/repos/${group}`, { body });
      expect(await create({ name: `${allowH2}` })).toMatchObject({ status: 200 });
      // A long body is read once its sender is verified.
      expect(await create({ name: "a", description: "long ".repeat(8000) })).toMatchObject({ status: 400 });
      expect(await call("POST", `/registry/v2/repos/${second}`, { body: { name: "a" } })).toMatchObject({
        status: 403,
      });
      expect(await call("GET", "/iam/v2/groups")).toMatchObject({ body: { totalCount: "1" } });
      const connect = "/platform.registry.v2.ReposService/ListRepos";
      expect((await call("POST", connect, { body: {} })).body.totalCount).toBe(allowH2 ? "2" : "1");
      // A header wins, whatever it says, and only for its own request.
      expect(await call("GET", "/iam/v2/groups", { token: running.token })).toMatchObject({
        body: { totalCount: "4" },
      });
      for (const authorization of ["Bearer x", "Basic x", ""])
        expect(await call("GET", "/iam/v2/groups", { headers: { authorization } })).toMatchObject({ status: 401 });
      expect(await call("GET", "/iam/v2/groups")).toMatchObject({ body: { totalCount: "1" } });
      // The token exchange takes the token in its body.
      const exchange = await call("POST", "/sts/exchange", { body: { token: running.token, identity } });
      expect(exchange.body.message).not.toMatch(/another token/);
      // Without the certificate there is no identity.
      const bare = await clientOf(running, undefined, allowH2)("GET", "/iam/v2/groups");
      expect(bare).toMatchObject({ status: 401, body: { message: "Unauthenticated: missing bearer token" } });
    }
    const address = `localhost:${new URL(running.process.baseUrl).port}`;
    const [ca, key, cert] = [server.cert, build.key, build.cert].map((pem) => Buffer.from(pem));
    const grpc = grpcRepos(address, undefined, credentials.createSsl(ca!, key!, cert!));
    onTestFinished(() => grpc.close());
    expect(await grpc.call("ListRepos", {})).toMatchObject({ total_count: "2" });
    expect(await grpc.call("CreateRepo", { parent: group, repo: { name: "grpc" } })).toMatchObject({ name: "grpc" });
    await expect.poll(running.process.stderr).toContain(`"caller":"${identity}"`);
    expect(running.process.stderr()).not.toContain("eyJ");
  });
});

test("no token from outside passes for a certificate", async () => {
  const running = await start("--tls-client-auth", "optional", ...identities);
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const subject = "spiffe://example.com/build";
  await tenant(running, "victim", { issuer: certificateIssuer, subject });
  const call = clientOf(running);
  const groups = await call("GET", "/iam/v2/groups", { token: running.token });
  const made = await call("POST", `/iam/v2/identities/${groups.body.groups[0].uid}`, {
    token: running.token,
    body: {
      name: "attacker",
      staticKeys: {
        issuer: certificateIssuer,
        subject,
        issuerKeys: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256", kid: "a" }] }),
      },
    },
  });
  expect(made.status).toBe(200);
  const token = await new SignJWT({ iss: certificateIssuer, sub: subject, aud: running.process.baseUrl })
    .setProtectedHeader({ alg: "ES256", kid: "a" })
    .setExpirationTime("1h")
    .sign(privateKey);
  expect(await call("GET", "/iam/v2/groups", { token })).toMatchObject({ status: 401 });
  await expect.poll(running.process.stderr).toContain("not made for a certificate by this process");
});

test("who may connect", async () => {
  const [required, optional] = await Promise.all([start(), start("--tls-client-auth", "optional")]);
  const get = (running: Running, certificate?: TestCertificate) => clientOf(running, certificate)("GET", "/livez");
  const invalid: Record<string, TestCertificate> = {
    "of another authority": client("spiffe://example.com/build", { by: stranger }),
    "its own authority": selfSigned(),
    expired: client("spiffe://example.com/build", { notAfter: new Date("2021-01-01") }),
    "not valid yet": client("spiffe://example.com/build", { notBefore: new Date("2048-01-01") }),
    "for servers": client("spiffe://example.com/build", { purpose: "server" }),
  };
  for (const running of [required, optional]) {
    for (const [name, certificate] of Object.entries(invalid))
      expect(await refusal(get(running, certificate)), name).toMatch(/^fetch failed/);
    expect((await get(running, build)).status).toBe(200);
  }
  expect(await refusal(get(required))).toMatch(/^fetch failed/);
  // Without --tls-client-identities a certificate is not an identity.
  const answer = await clientOf(required, build)("GET", "/iam/v2/groups");
  expect(answer).toMatchObject({ status: 401, body: { message: "Unauthenticated: missing bearer token" } });
  expect((await get(optional)).status).toBe(200);
});

test("the authorities are reloaded: whom they no longer vouch for is cut off, and comes back with no session", async () => {
  const running = await start(...identities);
  const { port } = new URL(running.process.baseUrl);
  const dial = ({ cert, key }: TestCertificate, session?: Buffer) =>
    new Promise<TLSSocket>((resolve, reject) => {
      const options = { ca: server.cert, cert, key, ALPNProtocols: ["http/1.1"], ...(session && { session }) };
      const socket = connect({ host: "127.0.0.1", port: Number(port), ...options });
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      socket.once("close", () => reject(new Error("closed")));
      socket.once("data", () => resolve(socket));
      socket.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
      socket.once("session", (made) => Object.assign(socket, { made }));
    });
  const replace = (...certificates: string[]) => writeFileSync(join(running.folder, "ca.pem"), certificates.join(""));
  const open = await dial(build);
  const cut = new Promise<void>((resolve) => open.once("close", () => resolve()));
  const { made } = open as TLSSocket & { made?: Buffer };
  expect(made).toBeDefined();
  const resumed = await dial(build, made);
  expect(resumed.isSessionReused()).toBe(true);
  resumed.write("GET /iam/v2/groups HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const answer = await new Promise((resolve) => resumed.once("data", (chunk) => resolve(String(chunk))));
  expect(answer).toContain("no identity is that of the client certificate for spiffe://example.com/build");

  replace(stranger.certificate.cert, authority.certificate.cert);
  const other = client("spiffe://example.com/build", { by: stranger });
  await expect.poll(() => dial(other).then(() => "in", String)).toBe("in");
  expect(open.destroyed).toBe(false);

  replace(stranger.certificate.cert);
  await cut;
  await expect(dial(build)).rejects.toThrow("closed");
  await expect(dial(build, made)).rejects.toThrow("closed");
  expect((await dial(other)).destroyed).toBe(false);
});
