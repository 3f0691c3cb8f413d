import type { DescService } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createOpenApi } from "../../src/openapi/package.ts";
import { createRestHandler, listRoutes, readBindings } from "../../src/rest/index.ts";
import { http1Client } from "../http/clients.ts";
import { type Any, custom, get, library, libraryWith, post, registry } from "./fixture.ts";

function refusal(service: DescService): string {
  try {
    createRestHandler({ services: [service], registry, transport: {} as Any });
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
}

describe("refused when built", () => {
  test.each<[string, object, string]>([
    ["GetLayer", get("/v1/{uid"), 'library.v1.Library.GetLayer: /v1/{uid: column 9: expected "}", found the end'],
    ["GetLayer", get("/v1/{uid}/{uid}"), "library.v1.Library.GetLayer: /v1/{uid}/{uid}: column 12: uid is bound twice"],
    [
      "GetLayer",
      get("/v1/{uid={digest}}"),
      "library.v1.Library.GetLayer: /v1/{uid={digest}}: column 10: a variable must not contain a variable",
    ],
    [
      "GetLayer",
      get("/v1/{nope}"),
      "library.v1.Library.GetLayer: /v1/{nope}: column 6: library.v1.GetLayerRequest has no field nope",
    ],
    [
      "GetLayer",
      get("/v1/{uid.x}"),
      "library.v1.Library.GetLayer: /v1/{uid.x}: column 6: library.v1.GetLayerRequest has no field uid.x",
    ],
    [
      "UpdateRepo",
      get("/v1/{repo}"),
      "library.v1.Library.UpdateRepo: /v1/{repo}: column 6: repo is not a singular scalar field",
    ],
    [
      "UpdateRepo",
      get("/v1/{repo.tags}"),
      "library.v1.Library.UpdateRepo: /v1/{repo.tags}: column 6: repo.tags is not a singular scalar field",
    ],
    [
      "UpdateRepo",
      get("/v1/{repo.labels}"),
      "library.v1.Library.UpdateRepo: /v1/{repo.labels}: column 6: repo.labels is not a singular scalar field",
    ],
    [
      "UpdateRepo",
      get("/v1/{update_mask}"),
      "library.v1.Library.UpdateRepo: /v1/{update_mask}: column 6: update_mask is not a singular scalar field",
    ],
    [
      "UpdateRepo",
      get("/v1/{repo.create_time.seconds}"),
      "library.v1.Library.UpdateRepo: /v1/{repo.create_time.seconds}: column 6: library.v1.UpdateRepoRequest has no field repo.create_time.seconds",
    ],
    [
      "UpdateRepo",
      post("/v1", { body: "nope" }),
      "library.v1.Library.UpdateRepo: /v1: body: library.v1.UpdateRepoRequest has no field nope",
    ],
    [
      "UpdateRepo",
      post("/v1", { body: "repo.name" }),
      "library.v1.Library.UpdateRepo: /v1: body: library.v1.UpdateRepoRequest has no field repo.name",
    ],
    [
      "ListRepos",
      get("/v1", { responseBody: "nope" }),
      "library.v1.Library.ListRepos: /v1: response_body: library.v1.ListReposResponse has no field nope",
    ],
    ["GetLayer", {}, "library.v1.Library.GetLayer: : an HTTP method and a path are needed"],
    [
      "GetLayer",
      get("/v1/{uid}", { additionalBindings: [get("/v2/{uid}", { additionalBindings: [get("/v3/{uid}")] })] }),
      "library.v1.Library.GetLayer: /v2/{uid}: additional_bindings must not be nested",
    ],
  ])("%s %o", (method, rule, message) => {
    expect(refusal(libraryWith(method, rule))).toBe(message);
  });

  test.each([
    ["/v1/{uid}/x", "/v1/{digest=*}/x"],
    ["/v1/{uid=**}", "/v1/**"],
    ["/v1/{uid}:move", "/v1/*:move"],
    ["/v1/mail", "/v1/%6dail"],
  ])("%s and %s match the same requests", (one, other) => {
    expect(refusal(libraryWith("GetLayer", get(one), get(other)))).toBe(
      `library.v1.Library.GetLayer1: ${other}: GET is taken by library.v1.Library.GetLayer (${one})`,
    );
  });

  test.each<[object, string]>([
    [get("/v1/{string_value}/{stringValue}"), "column 21: string_value is bound twice"],
    [get("/v1/{choice_string}/{choice_long}"), "column 22: choice_long cannot be given with choice_string"],
    [
      get("/v1/{choice_string}/{choice_match.issuer}"),
      "column 22: choice_match.issuer cannot be given with choice_string",
    ],
    [
      get("/v1/{child.choice_string}/{child.choice_long}"),
      "column 28: child.choice_long cannot be given with child.choice_string",
    ],
    [post("/v1/{choice_string}", { body: "choice_match" }), "body: choice_match cannot be given with choice_string"],
    [post("/v1/{string_value}", { body: "string_value" }), "body: string_value is already given by the path"],
    [custom("G T", "/v1"), "G T is not an HTTP method"],
  ])("%j sets a field or a oneof twice, or has no method", (rule, problem) => {
    expect(refusal(libraryWith("Echo", rule))).toContain(`: ${problem}`);
  });

  test("members of different oneofs, and several fields of one member, do not conflict", () => {
    const paths = ["/v1/{choice_string}/{child.choice_long}", "/v2/{choice_match.issuer}/{choice_match.subject}"];
    expect(refusal(libraryWith("Echo", ...paths.map((path) => get(path))))).toBe("accepted");
  });

  test("the same path under other methods and verbs is not a conflict", () => {
    expect(
      refusal(libraryWith("GetLayer", get("/v1/{uid}"), post("/v1/{uid}"), get("/v1/{uid}:a"), get("/v1/{uid=**}"))),
    ).toBe("accepted");
  });
});

describe("several bindings that cannot be served", () => {
  const services = [
    libraryWith("GetLayer", get("/v1/{nope}", { additionalBindings: [get("/v2/{uid}"), get("/v3/{uid")] })),
    libraryWith("GetImage", get("/v2/{digest}")),
  ];
  const httpRules = { rules: [{ selector: "library.v1.Library.Nope", get: "/v1" }] };
  const problems = [
    "library.v1.Library.GetLayer: /v1/{nope}: column 6: library.v1.GetLayerRequest has no field nope",
    'library.v1.Library.GetLayer: /v3/{uid: column 9: expected "}", found the end',
    "library.v1.Library.GetImage: /v2/{digest}: GET is taken by library.v1.Library.GetLayer (/v2/{uid})",
  ];

  test("are named at once, with rules for no method", () => {
    expect(() => readBindings(services)).toThrow(new Error(problems.join("\n")));
    const all = ["library.v1.Library.Nope: a rule selects a method that does not exist", ...problems];
    expect(() => readBindings(services, { httpRules })).toThrow(new Error(all.join("\n")));
  });

  test("are left out by option and named each, and the others are served", async () => {
    const skipped: string[] = [];
    const options = { services, registry, transport: {} as Any, invalidBindings: "skip" } as const;
    const handler = createRestHandler({
      ...options,
      onSkipped: (method, reason, template) =>
        skipped.push(`${method.parent.typeName}.${method.name}: ${template}: ${reason}`),
    });
    expect(skipped).toEqual(problems);
    expect(listRoutes(services, options).map(({ template }) => template)).toEqual(["/v2/{uid}"]);
    const client = await http1Client(handler);
    onTestFinished(() => client.close());
    expect((await client.call("/v1/a")).status).toBe(404);
    expect((await client.call("/v2/a", { method: "POST" })).headers.allow).toBe("GET, HEAD");
    const { paths } = createOpenApi(options, { info: { title: "t", version: "1" } }) as Any;
    expect(Object.keys(paths)).toEqual(["/v2/{uid}"]);
  });

  test("are in the log by default", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    createRestHandler({ services, registry, transport: {} as Any, invalidBindings: "skip" });
    expect(warn.mock.calls).toHaveLength(3);
    const [[first]] = warn.mock.calls as [[string]];
    expect(first).toMatch(/^REST: library.v1.Library.GetLayer is not served at \/v1\/{nope}: column 6: /);
  });
});

test("the listing is sorted by template and method", () => {
  const routes = listRoutes([library]).map(({ httpMethod, template, method, body }) =>
    [httpMethod, template, method.slice("library.v1.Library.".length), body].join(" "),
  );
  expect(routes).toEqual(
    [
      "POST /v1/collect/{description} Collect *",
      "GET /v1/echo Echo ",
      "POST /v1/echo Echo *",
      "PURGE /v1/echo Echo ",
      "POST /v1/echo/value Echo value",
      "POST /v1/echo/{string_value}/child Echo child",
      "GET /v1/files/{uid=**} Download ",
      "PUT /v1/files/{uid=**} Upload content",
      "GET /v1/images/{digest} GetImage ",
      "POST /v1/images/{digest}:undelete UndeleteImage ",
      "GET /v1/layers/{digest}/{number}/{kind} GetLayer ",
      "GET /v1/layers/{uid=**}/digests/{digest}/size GetLayerSize ",
      "GET /v1/repos ListRepos ",
      "DELETE /v1/repos/{uid=**} DeleteRepo ",
      "GET /v1/repos/{uid=**} GetRepo ",
      "PATCH /v1/repos/{repo.uid=**} UpdateRepo repo",
      "POST /v1/repos/{parent=**} CreateRepo repo",
      "GET /v1/repos/{uid=**}/readme GetReadme ",
      "GET /v1/repos/{uid=**}/tags GetTags ",
      "POST /v1/repos/{uid=**}:move MoveRepo *",
      "GET /v1/shelves/{uid=shelves/*/repos/*} GetRepo ",
      "POST /v1/uploads/{uid=**} UploadStream content",
      "GET /v1/watch Watch ",
      "GET /v1/watch/raw DownloadStream ",
    ].toSorted((a, b) => {
      const [aMethod = "", aTemplate = ""] = a.split(" ");
      const [bMethod = "", bTemplate = ""] = b.split(" ");
      return aTemplate < bTemplate ? -1 : aTemplate > bTemplate ? 1 : aMethod < bMethod ? -1 : 1;
    }),
  );
});
