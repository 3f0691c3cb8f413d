import { describe, expect, it } from "vitest";
import { type HeldPackage, holdPackages } from "../../../src/services/advisory/held-packages.ts";

const held = (name: string, version: string, more: Partial<HeldPackage> = {}): HeldPackage => ({
  name,
  version,
  type: "apk",
  origin: "",
  originVersion: "",
  ...more,
});
const wolfi = { type: "apk", namespace: "wolfi" };

describe("held packages", () => {
  it("are those of their type and namespace alone", () => {
    const packages = holdPackages([
      [held("openssl", "999", { type: "npm" }), held("curl", "8-r0", { namespace: "wolfi" })],
    ]);
    expect(packages.areFixed("openssl", wolfi, "3.0-r0")).toBe(false);
    expect(packages.areFixed("openssl", { type: "npm" }, "3.0")).toBe(true);
    expect(packages.areFixed("curl", wolfi, "8-r0")).toBe(true);
    expect(packages.areFixed("curl", { type: "apk" }, "8-r0")).toBe(true);
    expect(packages.areFixed("curl", { type: "apk", namespace: "alpine" }, "8-r0")).toBe(false);
  });

  it("are fixed when all copies of the kind in an image are, whatever another kind has", () => {
    const copies = [held("a", "2-r0", { namespace: "wolfi" }), held("a", "1", { type: "npm" })];
    expect(holdPackages([copies]).areFixed("a", wolfi, "2-r0")).toBe(true);
    const behind = [...copies, held("a", "1-r0", { namespace: "wolfi" })];
    expect(holdPackages([behind]).areFixed("a", wolfi, "2-r0")).toBe(false);
    expect(holdPackages([behind, copies]).areFixed("a", wolfi, "2-r0")).toBe(true);
    const unknownNamespace = [...copies, held("a", "1-r0")];
    expect(holdPackages([unknownNamespace]).areFixed("a", wolfi, "2-r0")).toBe(false);
  });

  it("are known by what they are built from, of the same type", () => {
    const packages = holdPackages([[held("libssl3", "3.3-r0", { origin: "openssl", namespace: "wolfi" })]]);
    expect(packages.areFixed("openssl", wolfi, "3.3-r0")).toBe(true);
    expect(packages.areFixed("openssl", { type: "deb" }, "1")).toBe(false);
    expect(packages.names).toEqual(["libssl3", "openssl"]);
  });

  it("are not known to be fixed where versions cannot be compared", () => {
    const packages = holdPackages([
      [
        held("tool", "2", { type: "generic" }),
        held("lib", "2.0", { type: "npm" }),
        held("lib", "2.0.0.1", { type: "npm" }),
      ],
    ]);
    expect(packages.areFixed("tool", { type: "generic" }, "2")).toBe(true);
    expect(packages.areFixed("tool", { type: "generic" }, "1")).toBeUndefined();
    expect(packages.areFixed("lib", { type: "npm" }, "1.0.0")).toBeUndefined();
    expect(packages.areFixed("lib", { type: "npm" }, "3.0.0")).toBe(false);
  });

  it("are open again from a version on that is said to be affected, until the next fix", () => {
    const isFixed = (version: string) =>
      holdPackages([[held("app", version)]]).areFixed("app", { type: "apk" }, "1.0-r0", [
        { kind: { type: "apk" }, version: "0.9-r0", isOpen: true },
        { kind: { type: "apk" }, version: "1.0-r0", isOpen: false },
        { kind: { type: "apk" }, version: "2.0-r0", isOpen: true },
        { kind: { type: "npm" }, version: "1.0-r0", isOpen: true },
        { kind: { type: "apk" }, version: "3.0-r0", isOpen: false },
        { kind: { type: "apk" }, version: "4.0-r0", isOpen: false },
        { kind: { type: "apk" }, version: "4.0-r0", isOpen: true },
      ]);
    const verdicts = ["0.9-r0", "1.0-r0", "1.9-r0", "2.0-r0", "2.1-r0", "3.1-r0", "4.0-r0"].map(isFixed);
    expect(verdicts).toEqual([false, true, true, false, false, true, false]);
  });

  it("of unknown type are listed, and never fixed", () => {
    const packages = holdPackages([
      [held("z", "9", { type: "" }), held("b", "9", { type: "" }), held("b", "9", { type: "" })],
    ]);
    expect(packages.untyped).toEqual(["b", "z"]);
    expect(packages.areFixed("b", { type: "" }, "1")).toBe(false);
    expect(packages.areFixed("b", { type: "apk" }, "1")).toBe(false);
  });
});
