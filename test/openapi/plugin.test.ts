/** The plugin, run by buf on a contract that is not ours. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";
import { findingsIn } from "./findings.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document has any shape
type Any = any;

let folder: string;
let document: Any;

/** Runs `buf generate` with the plugin, and returns what it printed about an error. */
function generate(...options: string[]): string {
  const plugin = {
    local: ["node", join(repository, "packages/rest/protoc-gen-openapi-rest.ts")],
    out: "out",
    strategy: "all",
  };
  const template = { version: "v2", plugins: [{ ...plugin, opt: ["target=ts", ...options] }] };
  const args = ["generate", "--template", JSON.stringify(template), "--path", "bookstore.proto"];
  try {
    execFileSync(join(repository, "node_modules/.bin/buf"), args, { cwd: folder, stdio: "pipe" });
    return "";
  } catch (error) {
    return String((error as { stderr: Buffer }).stderr);
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-"));
  cpSync(join(repository, "packages/rest/proto"), folder, { recursive: true });
  cpSync(join(import.meta.dirname, "bookstore.proto"), join(folder, "bookstore.proto"));
  writeFileSync(join(folder, "buf.yaml"), "version: v2\n");
  expect(
    generate("title=Bookstore", "version=1.2.3", "server=https://books.example", "license=MIT", "format=both"),
  ).toBe("");
  document = JSON.parse(readFileSync(join(folder, "out/openapi.json"), "utf8"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("validators and linters find nothing", async () => {
  expect(await findingsIn(document)).toEqual([]);
});

test("the options are in the document, in both formats", () => {
  expect(document.info).toMatchObject({ title: "Bookstore", version: "1.2.3" });
  expect(document.servers).toEqual([{ url: "https://books.example" }]);
  expect(readFileSync(join(folder, "out/openapi.yaml"), "utf8")).toMatch(/^openapi: 3\.1\.1\n/);
});

test("an unknown option is an error that names it", () => {
  expect(generate("titel=Bookstore")).toContain("unknown option titel; known: title");
  expect(generate("format=xml")).toContain("format must be one of json, yaml, both, not xml");
});

describe("paths", () => {
  test("each shape is one path, each binding one operation", () => {
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Any).map(([method, { operationId }]: Any) => `${method} ${path} ${operationId}`),
    );
    expect(operations.sort()).toEqual([
      "delete /v1/shelves/{name}/books/{name_2} DeleteBook",
      "get /v1/books/{name} GetBook2",
      "get /v1/books:search SearchBooks",
      "get /v1/files/{name} DownloadBook",
      "get /v1/shelves/{name}/books/{name_2} GetBook",
      "get /v1/shelves/{name}/books/{name_2}:read ReadBook",
      "get /v1/shelves/{parent}/books ListBooks",
      "patch /v1/shelves/{name}/books/{name_2} UpdateBook",
      "post /v1/shelves/{name}/books/{name_2}:move MoveBook",
      "post /v1/shelves/{parent}/books CreateBook",
    ]);
  });

  test("calls need a token where that is said", () => {
    expect(document.security).toEqual([]);
    expect(generate("security=bearer", "file=with-token")).toBe("");
    const { security, components } = JSON.parse(readFileSync(join(folder, "out/with-token.json"), "utf8"));
    expect([security, components.securitySchemes]).toEqual([
      [{ bearer: [] }],
      { bearer: { type: "http", scheme: "bearer" } },
    ]);
  });

  test("a variable of several segments says what its field holds", () => {
    const { parameters } = document.paths["/v1/shelves/{name}/books/{name_2}"].get;
    expect(parameters.map(({ name, description }: Any) => [name, description])).toEqual([
      ["name", "The value of `name` is `shelves/{name}/books/*`."],
      ["name_2", "The value of `name` is `shelves/*/books/{name_2}`."],
    ]);
    const [file] = document.paths["/v1/files/{name}"].get.parameters;
    expect(file.description).toContain("%2F");
  });
});

describe("requests", () => {
  test("query parameters: what text can express, nested by dots, not endlessly", () => {
    const { parameters } = document.paths["/v1/shelves/{parent}/books"].get;
    const inQuery = parameters.filter((parameter: Any) => parameter.in === "query");
    expect(inQuery.map(({ name }: Any) => name)).toEqual(["page_size", "filter.author", "genres", "labels", "since"]);
    expect(inQuery[3]).toMatchObject({ style: "deepObject", schema: { additionalProperties: { type: "string" } } });
    expect(inQuery[4].schema).toEqual({ type: "string", format: "date-time" });
  });

  test("a body is a field, or what the path leaves of the request", () => {
    const bodyOf = (path: string, method: string) =>
      document.paths[path][method].requestBody.content["application/json"].schema;
    expect(bodyOf("/v1/shelves/{parent}/books", "post")).toEqual({ $ref: "#/components/schemas/BookInput" });
    expect(bodyOf("/v1/shelves/{name}/books/{name_2}", "patch")).toEqual({ $ref: "#/components/schemas/BookPatch" });
    expect(bodyOf("/v1/shelves/{name}/books/{name_2}:move", "post")).toMatchObject({
      properties: { shelf: { type: "string", description: "Where it goes." } },
      required: ["shelf"],
    });
  });
});

describe("responses", () => {
  const contentOf = (path: string) => document.paths[path].get.responses["200"].content;

  test("a field of the response, a stream, a file", () => {
    expect(contentOf("/v1/shelves/{parent}/books")["application/json"].schema).toMatchObject({
      type: "array",
      items: { $ref: "#/components/schemas/Book" },
    });
    const streamed = contentOf("/v1/shelves/{name}/books/{name_2}:read");
    expect(Object.keys(streamed)).toEqual(["application/json", "application/x-ndjson", "text/event-stream"]);
    expect(contentOf("/v1/files/{name}")).toEqual({ "*/*": { schema: {} } });
  });

  test("errors that the comment names", () => {
    const { responses } = document.paths["/v1/shelves/{name}/books/{name_2}"].get;
    expect(Object.keys(responses)).toEqual(["200", "400", "404", "default"]);
  });
});

describe("schemas", () => {
  test("answers have every field that is written, without value rules", () => {
    const { required, properties, dependentSchemas, additionalProperties } = document.components.schemas.Book;
    expect(required.sort()).toEqual(
      ["name", "title", "genre", "chapters", "authors", "cover", "copies", "sold", "isbn", "secret", "old"].sort(),
    );
    expect(additionalProperties).toBeUndefined();
    expect(properties).toMatchObject({
      secret: { description: "Always empty in answers." },
      old: { deprecated: true },
      cover: { contentEncoding: "base64" },
      sold: { type: "string", format: "int64" },
      subtitle: { type: ["string", "null"] },
      more: { type: "object" },
      chapters: { type: "array", items: { $ref: "#/components/schemas/Chapter" } },
      authors: { additionalProperties: { $ref: "#/components/schemas/Author" } },
    });
    expect(dependentSchemas).toMatchObject({ price: { properties: { loan: { not: {} } } } });
  });

  test("requests have what callers set, and nothing else", () => {
    const { BookInput, BookLoanInput } = document.components.schemas;
    expect([BookInput.required, BookInput.additionalProperties]).toEqual([["title"], false]);
    expect(BookInput.properties).not.toHaveProperty("name");
    expect(BookInput.properties).toMatchObject({
      secret: { type: "string" },
      isbn: { description: "Cannot be changed." },
      loan: { $ref: "#/components/schemas/BookLoanInput" },
    });
    expect([BookLoanInput.required, BookLoanInput.additionalProperties]).toEqual([["library"], false]);
  });

  test("patches need nothing, at any depth; items of lists are whole", () => {
    const { BookPatch, BookLoanPatch } = document.components.schemas;
    for (const patch of [BookPatch, BookLoanPatch]) {
      expect(patch).not.toHaveProperty("required");
      expect(patch.additionalProperties).toBe(false);
    }
    expect(BookPatch.properties.loan).toEqual({ $ref: "#/components/schemas/BookLoanPatch" });
    expect(BookPatch.properties.chapters.items).toEqual({ $ref: "#/components/schemas/ChapterInput" });
  });

  test("answers to a mask lack any field, but not those of the page", () => {
    const { SearchBooksResponsePartial, BookPartial, BookLoanPartial } = document.components.schemas;
    expect(SearchBooksResponsePartial.required).toEqual(["books", "nextPageToken"]);
    expect(SearchBooksResponsePartial.properties.books.items).toEqual({ $ref: "#/components/schemas/BookPartial" });
    for (const partial of [BookPartial, BookLoanPartial]) expect(partial).not.toHaveProperty("required");
  });

  test("messages that hold themselves, enums with their comments, messages in messages", () => {
    const { Chapter, Genre, BookLoan, Page } = document.components.schemas;
    expect(Chapter.properties.chapters.items).toEqual({ $ref: "#/components/schemas/Chapter" });
    expect(Genre.enum).toEqual(["GENRE_UNSPECIFIED", "GENRE_FICTION", "GENRE_FACT"]);
    expect(Genre.description).toContain("- `GENRE_FICTION`: Made up.");
    expect(BookLoan.description).toBe("A loan.");
    expect(Page.required).toEqual(["number", "text"]);
  });
});
