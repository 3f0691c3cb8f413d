/** The pages of the server: what they say about this API, and the documents with this server's address. */
import type { DescService } from "@bufbuild/protobuf";
import type { ConsoleIssuer } from "../config/index.ts";
import type { Endpoints } from "../http/index.ts";
import type { PortResponse } from "../message/index.ts";
import { addGrpcSamples } from "../openapi/index.ts";
import { createPages, type HomeFacts } from "../pages/index.ts";
import { version } from "../version.ts";
import { type OpenApiVersion, openApiYaml, readOpenApi } from "./openapi-files.ts";

/** What {@link openPages} needs. */
export interface PageParts {
  readonly services: readonly DescService[];
  /** Where clients reach the server. */
  readonly baseUrl: string;
  /** The OpenID providers that the console signs in with. */
  readonly issuers: readonly ConsoleIssuer[];
  /** Answers when a document cannot be read. */
  onError(error: unknown, response: PortResponse): void;
}

/** The endpoints of the pages. */
export function openPages({ services, baseUrl, issuers, onError }: PageParts): Endpoints {
  const readDocument = async (version: OpenApiVersion) => {
    const document = JSON.parse(await readOpenApi(version, "json"));
    document.servers = [{ url: baseUrl }];
    return document;
  };
  return createPages({
    home: homeFacts(baseUrl),
    issuers,
    async openApi(version, format) {
      const document = await readDocument(version);
      return format === "json" ? `${JSON.stringify(document, undefined, 2)}\n` : await openApiYaml(document);
    },
    async viewerDocument() {
      const document = await readDocument("v2");
      const { host, port, protocol } = new URL(baseUrl);
      const isSecure = protocol === "https:";
      addGrpcSamples(document, services, {
        authority: port === "" ? `${host}:${isSecure ? 443 : 80}` : host,
        isSecure,
      });
      return JSON.stringify(document);
    },
    onError,
  });
}

function homeFacts(baseUrl: string): HomeFacts {
  return {
    title: "Platform API",
    summary: "Identity, container registry metadata, vulnerabilities, libraries, advisories and events behind one API.",
    version: version(),
    baseUrl,
    protocols: ["gRPC", "gRPC-Web", "Connect", "JSON/REST"],
    links: [
      { path: "/console", title: "Console", description: "Sign in, and see and change what is yours" },
      { path: "/docs", title: "API reference", description: "Every operation, to read and to try" },
      { path: "/openapi.json", title: "OpenAPI, JSON", description: "To generate clients" },
      { path: "/openapi.yaml", title: "OpenAPI, YAML", description: "The same, to read" },
      { path: "/openapi-v1.json", title: "OpenAPI of v1", description: "For clients of v1; also /openapi-v1.yaml" },
      { path: "/readyz", title: "Readiness", description: "Whether the server takes calls" },
      {
        path: "/.well-known/openid-configuration",
        title: "OpenID discovery",
        description: "The issuer of the platform's tokens",
      },
      { path: "/.well-known/jwks.json", title: "Keys", description: "What its tokens are signed with" },
    ],
    commands: [
      { title: "REST", command: `curl ${baseUrl}/ping/v2/ping` },
      {
        title: "gRPC",
        command: `buf curl --protocol grpc${baseUrl.startsWith("https:") ? "" : " --http2-prior-knowledge"} ${baseUrl}/platform.ping.v2.PingService/Ping`,
      },
      {
        title: "Connect, with a token",
        command: `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{}' ${baseUrl}/platform.iam.v2.GroupsService/ListGroups`,
      },
    ],
  };
}
