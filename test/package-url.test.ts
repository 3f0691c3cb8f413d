import { describe, expect, it } from "vitest";
import {
  formatPackageUrl,
  isSameKind,
  type PackageKind,
  packageKind,
  packageName,
  packageUrlText,
  packageVersion,
  parsePackageUrl,
} from "../src/package-url.ts";

const parse = (text: string) => parsePackageUrl(text)!;

describe("a package URL", () => {
  it.each([
    ["pkg:apk/wolfi/openssl@3-r0?arch=x86_64", "pkg:apk/wolfi/openssl"],
    ["pkg:apk/Alpine/R@4?distro=alpine-3.19", "pkg:apk/alpine/r?distro=alpine-3.19"],
    ["pkg:bitbucket/Example/Tool@1", "pkg:bitbucket/example/tool"],
    ["pkg:brew/Homebrew/Core/SQLite@3", "pkg:brew/homebrew/core/sqlite"],
    ["pkg:composer/Acme/Case@1", "pkg:composer/acme/case"],
    ["pkg:github/Example-Org/Tool-Name@1", "pkg:github/example-org/tool-name"],
    ["pkg:rpm/Fedora/PackageKit@1", "pkg:rpm/fedora/PackageKit"],
    ["pkg:pypi/Typing_Extensions@4", "pkg:pypi/typing-extensions"],
    ["pkg:pub/Http-Parser@4", "pkg:pub/http_parser"],
    ["pkg:nuget/Newtonsoft.Json@13", "pkg:nuget/Newtonsoft.Json"],
    ["pkg:vscode-extension/MS-Python/Python@1", "pkg:vscode-extension/ms-python/python"],
    ["pkg:apk/openssl", "pkg:apk/openssl"],
    ["pkg:npm/%40types/node@20", "pkg:npm/%40types/node"],
    ["pkg:npm/lodash@4", "pkg:npm/lodash"],
    ["pkg:golang/github.com/a/b@v1", "pkg:golang/github.com/a/b"],
    ["pkg:maven/org.slf4j/slf4j-api@2", "pkg:maven/org.slf4j/slf4j-api"],
    ["pkg:deb/debian/libstdc%2B%2B6@12", "pkg:deb/debian/libstdc%2B%2B6"],
    ["pkg:generic/a%2Fb@1", "pkg:generic/a%2Fb"],
    ["pkg:git/codeberg.org/Team/Tool@1", "pkg:git/codeberg.org/Team%2FTool"],
  ])("%s is %s without its version", (text, expected) => {
    const url = parse(text);
    const formatted = formatPackageUrl(packageKind(url), packageName(url));
    expect(formatted).toBe(expected);
    const again = parse(formatted);
    expect([packageKind(again), packageName(again)]).toEqual([packageKind(url), packageName(url)]);
  });
});

it.each([
  ["pkg:git/codeberg.org/forgejo/forgejo@a72d#docs", "pkg:git/codeberg.org/forgejo/forgejo@a72d#docs"],
  [
    "pkg:mlflow/Fraud@3?repository_url=https://adb-1.0.azuredatabricks.net/api",
    "pkg:mlflow/fraud@3?repository_url=https:%2F%2Fadb-1.0.azuredatabricks.net%2Fapi",
  ],
  [
    "pkg:mlflow/Fraud@3?repository_url=https://westus2.api.azureml.ms/x",
    "pkg:mlflow/Fraud@3?repository_url=https:%2F%2Fwestus2.api.azureml.ms%2Fx",
  ],
])("%s is written as %s", (text, expected) => {
  expect(packageUrlText(parse(text))).toBe(expected);
});

it.each(["pkg:npm/example@1.0.0?in%20production=true", "pkg:npm/", "npm/a"])("%s is not a package URL", (text) => {
  expect(parsePackageUrl(text)).toBeUndefined();
});

it.each([
  ["pkg:deb/debian/a@2.33.1-0.2?epoch=1", "1:2.33.1-0.2"],
  ["pkg:deb/debian/a@1%3A2.33.1-0.2?epoch=1", "1:2.33.1-0.2"],
  ["pkg:rpm/fedora/a@2.33?epoch=0", "0:2.33"],
  ["pkg:alpm/arch/a@2.33-1?epoch=2", "2:2.33-1"],
  ["pkg:deb/debian/a@2.33?epoch=no", "2.33"],
  ["pkg:deb/debian/a?epoch=1", ""],
  ["pkg:npm/a@2.33.0?epoch=1", "2.33.0"],
  ["pkg:pypi/a@1.0RC1", "1.0rc1"],
])("%s has the version %s", (text, expected) => {
  expect(packageVersion(parse(text))).toBe(expected);
});

describe("the text of a package URL", () => {
  it.each([
    [
      "pkg:OCI/trivy?tag=0.1&repository_url=ghcr.io/a/trivy",
      "pkg:oci/trivy?repository_url=ghcr.io%2Fa%2Ftrivy&tag=0.1",
    ],
    ["pkg:deb/Debian/a@1:2%2b1?arch=all&epoch=", "pkg:deb/debian/a@1:2%2B1?arch=all"],
    [
      "pkg:golang/google.golang.org/genproto@v1#/googleapis//api/",
      "pkg:golang/google.golang.org/genproto@v1#googleapis/api",
    ],
    ["pkg://npm/%40scope/a", "pkg:npm/%40scope/a"],
  ])("of %s is %s", (text, expected) => {
    expect(packageUrlText(parse(text))).toBe(expected);
    expect(parse(expected)).toEqual(parse(packageUrlText(parse(expected))));
  });

  it("has the epoch in its version", () => {
    expect(packageVersion(parse("pkg:deb/debian/a@2-1?epoch=1"))).toBe("1:2-1");
    expect(packageVersion(parse("pkg:deb/debian/a?epoch=1"))).toBe("");
    expect(packageVersion(parse("pkg:rpm/fedora/a@2-1"))).toBe("2-1");
  });
});

describe("kinds of packages", () => {
  const kind = (text: string): PackageKind => packageKind(parse(`pkg:${text}`));

  it.each([
    ["apk/wolfi/a", "apk/wolfi/a", true],
    ["apk/wolfi/a", "apk/alpine/a", false],
    ["apk/wolfi/a", "apk/a", true],
    ["apk/a", "npm/a", false],
    ["hex/acme/a", "hex/a", false],
    ["hex/a", "hex/a", true],
    ["deb/debian/a", "rpm/debian/a", false],
    ["apk/alpine/a?distro=alpine-3.19", "apk/alpine/a?distro=alpine-3.19.1", true],
    ["apk/alpine/a?distro=alpine-3.1", "apk/alpine/a?distro=alpine-3.19", false],
    ["apk/alpine/a?distro=alpine-3.19", "apk/alpine/a", true],
    ["deb/debian/a?distro=debian-11", "deb/debian/a?distro=debian-12", false],
    ["apk/alpine/a?distro=3.19.1", "apk/alpine/a?distro=alpine-3.19", true],
    ["apk/alpine/a?distro=3.19.1", "apk/alpine/a?distro=alpine-3.1", false],
  ])("%s and %s: %s", (a, b, expected) => {
    expect([isSameKind(kind(a), kind(b)), isSameKind(kind(b), kind(a))]).toEqual([expected, expected]);
  });

  it("are never the same where one is unknown", () => {
    expect(isSameKind({ type: "" }, { type: "" })).toBe(false);
    expect(isSameKind({ type: "" }, { type: "apk" })).toBe(false);
  });
});

it("has a subpath without empty segments and dots", () => {
  expect(packageUrlText(parse("pkg:golang/example.com/a@v1#./b//../c.d/"))).toBe("pkg:golang/example.com/a@v1#b/c.d");
});
