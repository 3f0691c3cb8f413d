import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { IdentitySchema } from "../../../../gen/platform/iam/v2/identities_pb.ts";
import { violationsOf } from "../../../../src/contract/index.ts";
import { describeUser } from "../../../../src/services/iam/provisioning/user-claims.ts";

const registered = { iss: "https://issuer.example", sub: "s", aud: "a", exp: 1 };

describe("the name of a user", () => {
  it.each([
    [{ name: "Jane Doe" }, "jane doe"],
    [{ name: "  José O'Neil  " }, "jose o-neil"],
    [{ name: "日本", preferred_username: "J.Doe_7" }, "j.doe_7"],
    [{ name: "", email: "jane@x.example" }, "jane-x.example"],
    [{ name: 7, preferred_username: ["x"], email: null }, "user"],
    [{ name: "😀", preferred_username: "///", email: "@" }, "user"],
    [{ name: "a\u0000b\ud800" }, "a-b"],
    [{ name: `${"x".repeat(254)} y` }, "x".repeat(254)],
    [{}, "user"],
  ])("of %j is %j", (claims, name) => {
    expect(describeUser({ ...registered, ...claims }).name).toBe(name);
    const rule = { iss: { case: "issuer", value: registered.iss }, sub: { case: "subject", value: "s" } } as const;
    const identity = create(IdentitySchema, { name, relationship: { case: "claimMatch", value: rule } });
    expect(violationsOf(IdentitySchema, identity)).toEqual([]);
  });
});

describe("the email of a user", () => {
  const email = "jane@x.example";
  it("is verified when the issuer says so", () => {
    const user = describeUser({ ...registered, email, email_verified: true });
    expect(user).toEqual({ name: "jane-x.example", email });
  });

  it.each([undefined, false, "true", 1])("is not verified when it says %j", (email_verified) => {
    const user = describeUser({ ...registered, email, email_verified });
    expect(user).toEqual({ name: "jane-x.example", emailUnverified: email });
  });

  it.each([7, "jane", "a@b@c", "a b@c", "a@b\n", "a@\ud800", `${"x".repeat(320)}@x`])("is not %j", (email) => {
    expect(Object.keys(describeUser({ ...registered, email, email_verified: true }))).toEqual(["name"]);
  });
});
