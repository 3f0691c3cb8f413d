import { expect, test } from "vitest";
import { normalizeSegment, parseTemplate, TemplateError } from "../../src/rest/template.ts";

function summary(text: string) {
  const { segments, variables, verb } = parseTemplate(text);
  return {
    segments: segments.map((segment) => (segment.kind === "literal" ? segment.text : segment.kind)).join(" "),
    variables: variables.map(({ fieldPath, start, end }) => `${fieldPath}@${start}-${end}`).join(" "),
    verb,
  };
}

test.each([
  ["/v1", "v1", "", undefined],
  ["/v1/messages", "v1 messages", "", undefined],
  ["/v1/{name}", "v1 *", "name@1-2", undefined],
  ["/v1/{name=*}", "v1 *", "name@1-2", undefined],
  ["/v1/{name=messages/*}", "v1 messages *", "name@1-3", undefined],
  ["/v1/{a.b_c.d1=**}", "v1 **", "a.b_c.d1@1-2", undefined],
  ["/v1/{uid=**}/readme", "v1 ** readme", "uid@1-2", undefined],
  ["/v1/{uid=**}/digests/{digest}/size", "v1 ** digests * size", "uid@1-2 digest@3-4", undefined],
  ["/v1/{x=**}:undelete", "v1 **", "x@1-2", "undelete"],
  ["/v1/things:batchGet", "v1 things", "", "batchGet"],
  ["/v1/*/**", "v1 * **", "", undefined],
  ["/v1/%6Dail%2fbox", "v1 mail%2Fbox", "", undefined],
  ["/v1/a.b-c_d~e!f$g&h'i(j)k+l,m;n=o@p", "v1 a.b-c_d~e!f$g&h'i(j)k+l,m;n=o@p", "", undefined],
])("parses %s", (text, segments, variables, verb) => {
  expect(summary(text)).toEqual({ segments, variables, verb });
});

test.each([
  ["", 'column 1: expected "/", found the end'],
  ["v1", 'column 1: expected "/", found "v"'],
  ["/", "column 2: expected a segment, found the end"],
  ["/v1/", "column 5: expected a segment, found the end"],
  ["//v1", 'column 2: expected a segment, found "/"'],
  ["/v1/a*", 'column 6: unexpected "*"'],
  ["/v1/*a", 'column 6: unexpected "a"'],
  ["/v1/***", 'column 7: unexpected "*"'],
  ["/v1/{", "column 6: expected a field path, found the end"],
  ["/v1/{}", 'column 6: expected a field path, found "}"'],
  ["/v1/{1a}", 'column 6: expected a field path, found "1"'],
  ["/v1/{a.}", 'column 7: expected "}", found "."'],
  ["/v1/{a", 'column 7: expected "}", found the end'],
  ["/v1/{a=}", 'column 8: expected a segment, found "}"'],
  ["/v1/{a=b/}", 'column 10: expected a segment, found "}"'],
  ["/v1/{a={b}}", "column 8: a variable must not contain a variable"],
  ["/v1/{a}b", 'column 8: unexpected "b"'],
  ["/v1/{a}/{a}", "column 10: a is bound twice"],
  ["/v1/**/{a=**}", "column 11: ** may stand only once in a template"],
  ["/v1/a:", "column 7: expected a verb, found the end"],
  ["/v1/a:b:c", 'column 8: unexpected ":"'],
  ["/v1/a:b/c", 'column 8: unexpected "/"'],
  ["/v1/{a=b:c}", 'column 9: expected "}", found ":"'],
  ["/v1/a b", 'column 6: unexpected " "'],
  ["/v1/a%2", 'column 6: unexpected "%"'],
  ["/v1/é", 'column 5: expected a segment, found "é"'],
  ["/v1?a=b", 'column 4: unexpected "?"'],
])("refuses %s", (text, message) => {
  expect(() => parseTemplate(text)).toThrow(TemplateError);
  expect(() => parseTemplate(text)).toThrow(message);
});

test.each([
  ["plain", "plain"],
  ["%6d%41%7E", "mA~"],
  ["%2f%3a%c3%a9", "%2F%3A%C3%A9"],
  ["%zz%", "%zz%"],
])("the normal form of %s is %s", (raw, normal) => {
  expect(normalizeSegment(raw)).toBe(normal);
});
