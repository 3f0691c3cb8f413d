/** Calls as people repeat them elsewhere. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { methodName } from "../../../src/client/index.ts";

/** A program that calls, and the text to give to it. `TOKEN` is read from the environment. */
export interface CallText {
  readonly program: string;
  readonly text: string;
}

/** A call as commands and as TypeScript. @param server base URL of the server. */
export function callTexts(server: string, method: DescMethod, request: JsonObject): CallText[] {
  const path = `${server}/${method.parent.typeName}/${method.name}`;
  const service = method.parent.name;
  const plural = service.replace(/Service$/, "");
  const client = plural.charAt(0).toLowerCase() + plural.slice(1);
  const json = quote(JSON.stringify(request));
  const authorization = '"Authorization: Bearer $TOKEN"';
  const cleartext = server.startsWith("https:") ? "" : " --http2-prior-knowledge";
  return [
    {
      program: "curl",
      text: `curl -H ${authorization} -H 'Content-Type: application/json' \\\n  -d ${json} \\\n  ${path}`,
    },
    { program: "buf curl", text: `buf curl${cleartext} -H ${authorization} \\\n  -d ${json} \\\n  ${path}` },
    {
      program: "TypeScript",
      text: `import { createPlatformClient } from "@platform-api/client";

const client = createPlatformClient({ server: ${JSON.stringify(server)}, token: process.env.TOKEN! });
console.log(await client.${client}.${methodName(method.localName, plural)}(${JSON.stringify(request)}));`,
    },
  ];
}

/** A word of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
