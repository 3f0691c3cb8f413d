/** Tables of messages, by the widths of terminals. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { SubscriptionSchema } from "../../../gen/platform/events/v2/subscriptions_pb.ts";
import { GroupInviteSchema } from "../../../gen/platform/iam/v2/group_invites_pb.ts";
import { IdentitySchema } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { RoleSchema } from "../../../gen/platform/iam/v2/roles_pb.ts";
import { RepoSchema } from "../../../gen/platform/registry/v2/repos_pb.ts";
import { fieldLines, Table, type TableStyle } from "../../../src/remote/print/table.ts";
import { widthOf } from "../../../src/remote/print/text.ts";

const uid = `${"0a".repeat(20)}/${"1b".repeat(8)}`;
const createTime = timestampFromMs(0);

function table(roles: readonly MessageInitShape<typeof RoleSchema>[], style: Partial<TableStyle>): string[] {
  const table = new Table(RoleSchema, { width: undefined, colours: false, wide: false, ...style });
  const messages = roles.map((role) => create(RoleSchema, { uid, createTime, ...role }));
  return [table.begin(messages), ...messages.map((message) => table.line(message))];
}

test.each([80, 160])("no line is longer than %i columns", (width) => {
  const long = "a very long text of many words ".repeat(20);
  const roles = [{ name: "漢".repeat(100), description: long }, { name: "👩‍👩‍👧‍👦".repeat(90) }, { name: "x" }];
  for (const line of table(roles, { width })) expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test.each([1, 5, 10, 20, 40, 60])("%i columns are not too few to print", (width) => {
  for (const line of table([{ name: "viewer", description: "reads" }], { width }))
    expect(widthOf(line)).toBeLessThanOrEqual(Math.max(width, 18));
});

test("a table of short cells is not cut at 80 columns", () => {
  const [heading, line] = table([{ name: "viewer", description: "reads" }], { width: 160 });
  expect(heading).toMatch(/^NAME +UID +DESCRIPTION +CREATE-TIME$/);
  expect(line).toMatch(new RegExp(`^viewer  ${uid}  reads +\\d+y ago$`));
});

test("at 80 columns uids are cut first, at their beginning, then texts, then long names", () => {
  const description = "reads and reads and reads";
  const [, short] = table([{ name: "viewer", description }], { width: 80 });
  expect(short).toMatch(/^viewer {2}…[0-9a-f]+\/(1b){8} {2}reads and reads and reads {2}\d+y ago$/);
  const [, long] = table([{ name: "v".repeat(90), description }], { width: 80 });
  expect(long).toMatch(/^v{43}… {2}…\/(1b){8} {2}reads and rea…$/);
});

test("of a resource that refers to others, the own uid is cut before theirs", () => {
  const binding = create(RoleBindingSchema, { uid, identityUid: uid, roleUid: uid });
  const table = new Table(RoleBindingSchema, { width: 97, colours: false, wide: false });
  expect(table.begin([binding])).toMatch(/^UID +IDENTITY +ROLE$/);
  expect(table.line(binding)).toMatch(/^…\/(1b){8} {2}…[0-9a]+\/(1b){8} {2}…[0-9a]+\/(1b){8}$/);
  expect(table.line(binding)).toHaveLength(97);
});

test("references are printed by name: as the message has it, as it is given, or by uid where there is none", () => {
  const style = { width: 80, colours: false, wide: false };
  const [identity, role] = ["0c".repeat(20), "0d".repeat(20)];
  const binding = create(RoleBindingSchema, {
    uid: "0a".repeat(20),
    identity: { uid: identity, name: "" }, // which the caller may not get
    identityUid: identity,
    role: { uid: role, name: "viewer" },
    roleUid: role,
  });
  const bindings = new Table(RoleBindingSchema, style);
  expect(bindings.begin([binding])).toMatch(/^UID +IDENTITY +ROLE$/);
  expect(bindings.line(binding)).toMatch(/^…[0a]+ {2}(0c){20} {2}viewer$/);
  const invite = create(GroupInviteSchema, { uid: "0a".repeat(20), roleUid: role });
  const invites = new Table(GroupInviteSchema, style, new Map([[role, "owner"]]));
  expect(invites.begin([invite])).toMatch(/^UID +ROLE$/);
  expect(invites.line(invite)).toBe(`${"0a".repeat(20)}  owner`);
  expect(new Table(GroupInviteSchema, { ...style, wide: true }).begin([invite])).toMatch(/^UID +ROLE-UID$/);
});

test("of one resource, long fields are wrapped at commas and blanks on a terminal, and messages are in lines", () => {
  const style = { width: 30, colours: false, wide: false };
  const role = create(RoleSchema, { name: "a", description: "one two three four five six", capabilities: [] });
  expect(fieldLines(RoleSchema, role, style)).toEqual([
    "name         a",
    "description  one two three",
    "             four five six",
  ]);
  const repo = create(RepoSchema, { bundles: ["first-bundle", "second-bundle", "third"] });
  expect(fieldLines(RepoSchema, repo, style)).toEqual(["bundles  first-bundle,", "         second-bundle,third"]);
  expect(fieldLines(RepoSchema, repo, { ...style, width: undefined })).toEqual([
    "bundles  first-bundle,second-bundle,third",
  ]);
  const identity = create(IdentitySchema, {
    relationship: { case: "claimMatch", value: { iss: { case: "issuer", value: "https://a.example.com" } } },
  });
  expect(fieldLines(IdentitySchema, identity, { ...style, width: 80 })).toEqual([
    "claim-match.issuer  https://a.example.com",
  ]);
});

test("secrets have no columns", () => {
  const subscription = create(SubscriptionSchema, { uid, sink: "https://a.example.com", signingSecret: "whsec_x" });
  for (const wide of [true, false]) {
    const table = new Table(SubscriptionSchema, { width: undefined, colours: false, wide });
    expect(table.begin([subscription])).not.toContain("SECRET");
    expect(table.line(subscription)).not.toContain("whsec_");
  }
});

test("with all fields no column is left out and nothing is cut, and messages have columns for their fields", () => {
  const [heading, line] = table([{ name: "viewer", description: "x".repeat(90) }], { width: 80, wide: true });
  expect(heading).toMatch(/ DESCRIPTION .* CREATE-TIME/);
  expect(line).toContain(`viewer  ${uid}  ${"x".repeat(90)}  `);
  const identity = create(IdentitySchema, {
    uid,
    name: "bot",
    relationship: {
      case: "claimMatch",
      value: { iss: { case: "issuer", value: "https://a.example.com" }, claims: { a: "b" } },
    },
  });
  const wide = new Table(IdentitySchema, { width: 80, colours: false, wide: true });
  expect(wide.begin([identity])).toMatch(/^NAME +UID +CLAIM-MATCH\.ISSUER +CLAIM-MATCH\.CLAIMS$/);
  expect(wide.line(identity)).toMatch(/^bot +\S+ +https:\/\/a\.example\.com +a=b$/);
});

test("columns are aligned where characters are wide, on a terminal and in a file", () => {
  const names = ["漢字", "e\u0301te\u0301", "🚀 rocket", "plain"];
  for (const width of [160, undefined]) {
    const [, ...lines] = table(
      names.map((name) => ({ name })),
      { width },
    );
    expect(new Set(lines.map((line) => widthOf(line.slice(0, line.indexOf(uid)))))).toEqual(
      new Set([widthOf("🚀 rocket") + 2]),
    );
  }
});

test("nothing is cut in a file, and an empty cell is a dash", () => {
  const description = "x".repeat(3000);
  const [, first, second] = table([{ name: "a", description }, { name: "b" }], {});
  expect(first).toContain(description);
  expect(second).toMatch(/^b +\S+ {2}- +1970-01-01T00:00:00.000Z$/);
});

test("a later line that is longer than the first ones is cut on a terminal, and whole in a file", () => {
  const first = [create(RoleSchema, { uid, name: "a" })];
  const later = create(RoleSchema, { uid, name: "a".repeat(300) });
  for (const [width, length] of [
    [80, "NAME".length + 2 + uid.length],
    [undefined, 300 + 2 + uid.length],
  ] as const) {
    const table = new Table(RoleSchema, { width, colours: false, wide: false });
    table.begin(first);
    expect(table.line(later)).toHaveLength(length);
  }
});

test("control characters of cells and of single resources are printed as escapes", () => {
  const evil = "\u001b[2J\u009b31m\r\n\u0007";
  const role = { name: evil, description: evil, capabilities: [], etag: evil };
  for (const wide of [false, true]) expect(table([role], { wide, width: 160 }).join("")).not.toMatch(/\p{Cc}/u);
  const style = { width: 160, wide: false, colours: false };
  expect(fieldLines(RoleSchema, create(RoleSchema, role), style).join("")).not.toMatch(/\p{Cc}/u);
  const repo = create(RepoSchema, { name: evil, bundles: [evil, evil], aliases: [evil] });
  expect(fieldLines(RepoSchema, repo, style).join("")).not.toMatch(/\p{Cc}/u);
});

test("only headings are coloured, and only where that is wanted", () => {
  const [heading, line] = table([{ name: "a" }], { width: 160, colours: true });
  expect(heading?.split("\u001b")).toEqual(["", expect.stringMatching(/^\[1mNAME/), "[22m"]);
  expect(line).not.toContain("\u001b");
});

test("an empty table is its heading", () => {
  expect(table([], { width: 80 })).toEqual([expect.stringMatching(/^NAME +UID +DESCRIPTION/)]);
});
