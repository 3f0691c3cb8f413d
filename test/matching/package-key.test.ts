import { expect, test } from "vitest";
import { packageKey, packageKeyOfUrl, typeOfKey } from "../../src/matching/package-key.ts";

test.each([
  ["pkg:apk/wolfi/openssl@3.1-r0?arch=x86_64&distro=wolfi", "pkg:apk/wolfi/openssl"],
  ["pkg:npm/%40scope/name@1#sub", "pkg:npm/%40scope/name"],
  ["pkg:PYPI/Zope.Interface@5", "pkg:pypi/zope-interface"],
  ["pkg:pypi/typing__extensions", "pkg:pypi/typing-extensions"],
  ["pkg:golang/github.com/Masterminds/semver@v1", "pkg:golang/github.com/masterminds/semver"],
  ["pkg:nuget/Newtonsoft.Json@13", "pkg:nuget/newtonsoft.json"],
  ["pkg:swift/github.com/Alamofire/Alamofire@5", "pkg:swift/github.com/alamofire/alamofire"],
  ["pkg:gem/RedCloth@4", "pkg:gem/RedCloth"],
  ["pkg:rpm/rhel/openssl@3", "pkg:rpm/redhat/openssl"],
  ["pkg:rpm/Rocky-Linux/PackageKit@1", "pkg:rpm/rocky/PackageKit"],
  ["pkg:maven/org.slf4j/slf4j-api@2?type=jar", "pkg:maven/org.slf4j/slf4j-api"],
  ["pkg:deb/debian/libstdc%2B%2B6", "pkg:deb/debian/libstdc%2B%2B6"],
])("the key of %s is %s", (purl, key) => {
  expect(packageKeyOfUrl(purl)).toBe(key);
  expect(packageKeyOfUrl(key)).toBe(key);
});

test("a package of its parts has the key of its package URL", () => {
  expect(packageKey({ type: "npm", namespace: "@scope", name: "name" })).toBe("pkg:npm/%40scope/name");
  expect(packageKey({ type: "deb", namespace: "Debian", name: "OpenSSL" })).toBe("pkg:deb/debian/openssl");
});

test("a text that is not a package URL has no key", () => {
  expect(packageKeyOfUrl("openssl")).toBeUndefined();
});

test("a key tells its type", () => {
  expect(typeOfKey("pkg:vscode-extension/a/b")).toBe("vscode-extension");
});
