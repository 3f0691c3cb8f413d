/** Receives the events of one subscription. Node 24, `npm install jose`; ISSUER, GROUP, SECRET and PORT come from the environment. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { createRemoteJWKSet, jwtVerify } from "jose";

const { ISSUER = "", GROUP = "", SECRET = "", PORT = "8090" } = process.env;
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));
const secret = Buffer.from(SECRET.replace("whsec_", ""), "base64");

async function verify(headers: IncomingHttpHeaders, body: Buffer) {
  const expected = { issuer: ISSUER, audience: "customer", subject: `webhook:${GROUP}`, algorithms: ["ES256"] };
  const { payload } = await jwtVerify(String(headers.authorization).replace("Bearer ", ""), keys, expected);
  const { digest } = payload.webhook as { digest?: string };
  if (digest !== `sha256:${createHash("sha256").update(body).digest("hex")}`) throw new Error("for another body");
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < 300)) throw new Error("signed at another time");
  const right = `v1,${createHmac("sha256", secret).update(`${id}.${time}.`).update(body).digest("base64")}`;
  const isRight = (one: string) => one.length === right.length && timingSafeEqual(Buffer.from(one), Buffer.from(right));
  if (!String(signatures).split(" ").some(isRight)) throw new Error("not signed with our secret");
}

createServer(async (request, response) => {
  const { "ce-id": id, "ce-type": type, "ce-specversion": version, authorization } = request.headers;
  const body = await buffer(request); // a proxy in front of this limits its size
  const isEvent = version === "1.0" && id !== undefined;
  const isRefused = await verify(request.headers, body).catch((error: Error) => error);
  if (isEvent && !isRefused) console.log(id, type, JSON.parse(body.toString()).body);
  response.writeHead(isEvent ? (isRefused ? (authorization ? 403 : 401) : 200) : 400).end();
}).listen(Number(PORT), "127.0.0.1", () => console.log("listening"));
