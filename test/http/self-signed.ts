/** Certificates for tests, created by the test: DER (X.690) of RFC 5280, signed with fresh P-256 keys. */
import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A certificate and its key, both PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** What a certificate is made from. */
export interface CertificateInit {
  /** Its common name. */
  readonly name?: string;
  /** The common name and the certificate of its authority; by default it is its own. */
  readonly by?: { readonly name: string; readonly certificate: TestCertificate };
  readonly altNames?: readonly (readonly [kind: keyof typeof altNameTags, value: string])[];
  /** What it is good for; by default anything. */
  readonly purpose?: "authority" | "server" | "client";
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

const altNameTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;
const purposes = { server: "2b06010505070301", client: "2b06010505070302" } as const;

/** A certificate for `localhost` and 127.0.0.1. It is its own authority. */
export function selfSigned(): TestCertificate {
  return certificateOf({});
}

/** Makes a certificate. */
export function certificateOf({
  name = "localhost",
  by,
  altNames = [
    ["dns", "localhost"],
    ["ip", "\x7f\0\0\x01"],
  ],
  purpose,
  notBefore = new Date("2020-01-01"),
  notAfter = new Date("2049-12-31"),
}: CertificateInit): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
  const names = altNames.map(([kind, value]) => der(altNameTags[kind], Buffer.from(value, "latin1")));
  const extensions = [
    ...(names.length > 0 ? [sequence(oid("551d11"), der(0x04, sequence(...names)))] : []),
    ...(purpose === "authority" ? [sequence(oid("551d13"), isTrue, der(0x04, sequence(isTrue)))] : []),
    ...(purpose === "server" || purpose === "client"
      ? [sequence(oid("551d25"), der(0x04, sequence(oid(purposes[purpose]))))]
      : []),
  ];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...randomBytes(8)])),
    ecdsaWithSha256,
    commonName(by?.name ?? name),
    sequence(...[notBefore, notAfter].map(time)),
    commonName(name),
    publicKey.export({ format: "der", type: "spki" }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  );
  const signer = by === undefined ? privateKey : createPrivateKey(by.certificate.key);
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", body, signer)]);
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, signature));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}

const isTrue = Buffer.from("0101ff", "hex");

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))));
}

/** UTCTime, which is for years up to 2049. */
function time(date: Date): Buffer {
  return der(0x17, Buffer.from(date.toISOString().replace(/^\d\d|[-:T]|\.\d+/g, "")));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function der(tag: number, content: Buffer): Buffer {
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
