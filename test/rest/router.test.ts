import type { DescField } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Binding } from "../../src/rest/binding.ts";
import { captureOf } from "../../src/rest/path.ts";
import { Router } from "../../src/rest/router.ts";
import { parseTemplate } from "../../src/rest/template.ts";
import { desc, library } from "./fixture.ts";

const required = desc("GetRepoRequest").fields[0] as DescField;
const optional = desc("ListReposRequest").fields[0] as DescField;

/** A binding with a template alone, whose uids are required; the router looks at nothing else. */
function bindingOf(route: string): Binding {
  const [httpMethod = "", text = ""] = route.split(" ");
  const template = parseTemplate(text);
  return {
    method: library.methods[0] as Binding["method"],
    httpMethod,
    template,
    variables: template.variables.map((variable) => ({
      ...variable,
      path: [text.includes("{uid=") ? required : optional],
      isMultiSegment: variable.end - variable.start > 1 || template.segments[variable.start]?.kind === "**",
    })),
    body: undefined,
    responseBody: undefined,
  };
}

/** The template that a request reaches with what its variables captured, or the methods allowed, or 404. */
function routeTo(routes: string[], request: string, slash: "keep" | "decode" = "keep"): string {
  const results = [routes, routes.toReversed()].map((ordered) => {
    const [httpMethod = "", path = ""] = request.split(" ");
    const match = new Router(ordered.map(bindingOf)).match(httpMethod, path);
    if (match.kind !== "found") return match.kind === "wrong method" ? `405 ${match.allow}` : "404";
    const { binding, segments } = match;
    const captures = binding.variables.map(
      (variable) => `${variable.fieldPath}=${captureOf(variable, binding, segments, slash)}`,
    );
    return [binding.template.text, ...captures].join(" ");
  });
  expect(results[0]).toBe(results[1]);
  return results[0] as string;
}

const api = [
  "GET /v1/repos",
  "GET /v1/repos/{uid=**}",
  "PATCH /v1/repos/{uid=**}",
  "POST /v1/repos/{parent=**}",
  "GET /v1/repos/{uid=**}/readme",
  "GET /v1/repos/{uid=**}/digests/{digest}/size",
  "POST /v1/repos/{uid=**}:move",
  "POST /v1/repos:batchCreate",
  "GET /v1/images/{digest}",
  "POST /v1/images/{digest}:undelete",
  "GET /v1/tags/{tag}/latest",
  "GET /v1/tags/v1/{rest=**}",
  "DELETE /v1/tags/{tag}/{part}",
  "GET /v1/shelves/{name=shelves/*/books/*}",
  "* /v1/any",
];

describe.each<[string, [string, string][]]>([
  [
    "wildcards",
    [
      ["GET /v1/repos", "/v1/repos"],
      ["GET /v1/repos/a", "/v1/repos/{uid=**} uid=a"],
      ["GET /v1/repos/a/b/c", "/v1/repos/{uid=**} uid=a/b/c"],
      ["GET /v1/images/a", "/v1/images/{digest} digest=a"],
      ["GET /v1/images/a/b", "404"],
      ["GET /v1/shelves/shelves/s/books/b", "/v1/shelves/{name=shelves/*/books/*} name=shelves/s/books/b"],
      ["GET /v1/shelves/shelves/s/books", "404"],
      ["GET /v2/repos", "404"],
      ["GET /", "404"],
      ["GET *", "404"],
      ["GET v1/repos", "404"],
    ],
  ],
  [
    "tails after **: the longest wins",
    [
      ["GET /v1/repos/a/b/readme", "/v1/repos/{uid=**}/readme uid=a/b"],
      ["GET /v1/repos/readme", "/v1/repos/{uid=**}/readme uid="],
      ["GET /v1/repos/readme/readme", "/v1/repos/{uid=**}/readme uid=readme"],
      ["GET /v1/repos/a/readme/b", "/v1/repos/{uid=**} uid=a/readme/b"],
      ["GET /v1/repos/a/digests/sha256:1/size", "/v1/repos/{uid=**}/digests/{digest}/size uid=a digest=sha256:1"],
      ["GET /v1/repos/a/digests/d/digests/e/size", "/v1/repos/{uid=**}/digests/{digest}/size uid=a/digests/d digest=e"],
      ["GET /v1/repos/digests/d/size", "/v1/repos/{uid=**}/digests/{digest}/size uid= digest=d"],
      ["GET /v1/repos/a/digests/size", "/v1/repos/{uid=**} uid=a/digests/size"],
      ["PATCH /v1/repos/a/readme", "/v1/repos/{uid=**} uid=a/readme"],
    ],
  ],
  [
    "empty segments",
    [
      ["GET /v1/repos/", "/v1/repos/{uid=**} uid="],
      ["POST /v1/repos", "/v1/repos/{parent=**} parent="],
      ["POST /v1/repos/", "/v1/repos/{parent=**} parent="],
      ["GET /v1/repos//readme", "/v1/repos/{uid=**}/readme uid="],
      ["GET /v1/repos//", "/v1/repos/{uid=**} uid=/"],
      ["GET /v1/repos/a/", "/v1/repos/{uid=**} uid=a/"],
      ["GET /v1/repos/a/b/", "/v1/repos/{uid=**} uid=a/b/"],
      ["GET /v1/repos/a//b", "/v1/repos/{uid=**} uid=a//b"],
      ["GET /v1/repos//a", "/v1/repos/{uid=**} uid=/a"],
      ["GET /v1/repos/a//readme", "/v1/repos/{uid=**}/readme uid=a/"],
      ["GET /v1/repos/a/readme/", "/v1/repos/{uid=**} uid=a/readme/"],
      ["GET /v1/repos/a//digests/d/size", "/v1/repos/{uid=**}/digests/{digest}/size uid=a/ digest=d"],
      ["GET //v1/repos", "404"],
      ["GET /v1//repos", "404"],
      ["GET /v1/images/", "404"],
      ["GET /v1/images//", "404"],
      ["GET /v1/images/a/", "404"],
      ["GET /v1/images/:undelete", "/v1/images/{digest} digest=:undelete"],
      ["POST /v1/images/:undelete", "405 GET,HEAD"],
      ["GET /v1/repos/a/digests//size", "/v1/repos/{uid=**} uid=a/digests//size"],
      ["GET /v1/repos/a/digests/d/size/", "/v1/repos/{uid=**} uid=a/digests/d/size/"],
    ],
  ],
  [
    "dot segments are data",
    [
      ["GET /v1/repos/a/../b", "/v1/repos/{uid=**} uid=a/../b"],
      ["GET /v1/images/..", "/v1/images/{digest} digest=.."],
      ["GET /v1/x/../repos", "404"],
    ],
  ],
  [
    "verbs",
    [
      ["POST /v1/images/1:undelete", "/v1/images/{digest}:undelete digest=1"],
      ["POST /v1/images/a:b:undelete", "/v1/images/{digest}:undelete digest=a:b"],
      ["POST /v1/images/1:%75ndelete", "/v1/images/{digest}:undelete digest=1"],
      ["GET /v1/images/1:undelete", "405 POST"],
      ["GET /v1/images/1%3Aundelete", "/v1/images/{digest} digest=1:undelete"],
      ["POST /v1/images/1%3Aundelete", "405 GET,HEAD"],
      ["GET /v1/images/sha256:abc", "/v1/images/{digest} digest=sha256:abc"],
      ["GET /v1/images/2024-01-01T00:00:00Z", "/v1/images/{digest} digest=2024-01-01T00:00:00Z"],
      ["GET /v1/images/1:move", "/v1/images/{digest} digest=1:move"],
      ["GET /v1/images/1:", "/v1/images/{digest} digest=1:"],
      ["POST /v1/repos:batchCreate", "/v1/repos:batchCreate"],
      ["GET /v1/repos:batchCreate", "405 POST"],
      ["POST /v1/repos/a/b:move", "/v1/repos/{uid=**}:move uid=a/b"],
      ["GET /v1/repos/a/b:move", "405 POST"],
      ["POST /v1/repos:move", "/v1/repos/{uid=**}:move uid="],
      ["GET /v1/repos/a:move/b", "/v1/repos/{uid=**} uid=a:move/b"],
    ],
  ],
  [
    "precedence and backtracking over path and method",
    [
      ["GET /v1/tags/v1/latest", "/v1/tags/v1/{rest=**} rest=latest"],
      ["GET /v1/tags/v2/latest", "/v1/tags/{tag}/latest tag=v2"],
      ["DELETE /v1/tags/v1/latest", "/v1/tags/{tag}/{part} tag=v1 part=latest"],
      ["DELETE /v1/tags/v2/old", "/v1/tags/{tag}/{part} tag=v2 part=old"],
      ["GET /v1/tags/v2/old", "405 DELETE"],
      ["POST /v1/tags/v1/latest", "405 DELETE,GET,HEAD"],
    ],
  ],
  [
    "methods",
    [
      ["HEAD /v1/repos", "/v1/repos"],
      ["DELETE /v1/repos/a", "405 GET,HEAD,PATCH,POST"],
      ["OPTIONS /v1/repos", "405 GET,HEAD,POST"],
      ["get /v1/repos", "405 GET,HEAD,POST"],
      ["DELETE /v1/repos/a/readme", "405 GET,HEAD"],
      ["BREW /v1/any", "/v1/any"],
    ],
  ],
  [
    "escapes",
    [
      ["GET /v1/%72epos", "/v1/repos"],
      ["GET /v1%2Frepos", "404"],
      ["GET /v1/images/a%2Fb", "/v1/images/{digest} digest=a/b"],
      ["GET /v1/images/a%252Fb", "/v1/images/{digest} digest=a%2Fb"],
      ["GET /v1/repos/a%2Fb%2fc", "/v1/repos/{uid=**} uid=a%2Fb%2fc"],
      ["GET /v1/repos/a%20b%2Fc/d", "/v1/repos/{uid=**} uid=a b%2Fc/d"],
      ["GET /v1/repos/a%2Freadme", "/v1/repos/{uid=**} uid=a%2Freadme"],
      ["GET /v1/repos/%C3%A9+", "/v1/repos/{uid=**} uid=é+"],
      ["GET /v1/images/%zz", "/v1/images/{digest} digest=undefined"],
      ["GET /v1/images/%", "/v1/images/{digest} digest=undefined"],
      ["GET /v1/images/%ff", "/v1/images/{digest} digest=undefined"],
      ["GET /v1/images/%ed%a0%80", "/v1/images/{digest} digest=undefined"],
      ["GET /v1/images/%c0%af", "/v1/images/{digest} digest=undefined"],
      ["GET /v1/images/%00", "/v1/images/{digest} digest=undefined"],
      ["GET /v1/repos/a%2F%", "/v1/repos/{uid=**} uid=undefined"],
    ],
  ],
])("%s", (_, cases) => {
  test.each(cases)("%s", (request, expected) => {
    expect(routeTo(api, request)).toBe(expected);
  });
});

test("an unknown verb is data, but where the host says that values have no colon it makes an unknown path", () => {
  const match = (request: string) => {
    const [httpMethod = "", path = ""] = request.split(" ");
    const found = new Router(api.map(bindingOf), ({ template }) => !template.text.includes("=**")).match(
      httpMethod,
      path,
    );
    return found.kind === "found" ? found.binding.template.text : found.kind;
  };
  expect(match("GET /v1/repos/a:undelete")).toBe("unknown path");
  expect(match("PATCH /v1/repos/a/b:undelete")).toBe("unknown path");
  expect(match("PUT /v1/repos/a:undelete")).toBe("unknown path");
  expect(match("PUT /v1/repos/a")).toBe("wrong method");
  expect(match("GET /v1/repos/a%3Aundelete")).toBe("/v1/repos/{uid=**}");
  expect(match("GET /v1/repos/a:b/c")).toBe("/v1/repos/{uid=**}");
  expect(match("POST /v1/repos/a:move")).toBe("/v1/repos/{uid=**}:move");
  expect(match("GET /v1/images/sha256:abc")).toBe("/v1/images/{digest}");
});

test("an escaped slash in several segments is decoded on demand, but never splits", () => {
  expect(routeTo(api, "GET /v1/repos/a%2Fb%2fc", "decode")).toBe("/v1/repos/{uid=**} uid=a/b/c");
  expect(routeTo(api, "GET /v1/repos/a%2Freadme", "decode")).toBe("/v1/repos/{uid=**} uid=a/readme");
  expect(routeTo(api, "GET /v1/repos/a%252Fb", "decode")).toBe("/v1/repos/{uid=**} uid=a%2Fb");
});

test("many segments are walked in linear time", () => {
  const path = `/v1/repos/${"a/digests/".repeat(50_000)}b`;
  expect(routeTo(api, `GET ${path}`)).toContain("/v1/repos/{uid=**}");
});
