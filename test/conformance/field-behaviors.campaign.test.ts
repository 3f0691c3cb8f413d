/**
 * What `google.api.field_behavior` promises of every resource that can be written: read from the descriptors, tried on
 * the port.
 */
import {
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  getOption,
  hasOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { resource } from "../../gen/google/api/resource_pb.ts";
import { camelCase, type Json, methods } from "./contract.ts";
import { freshName, makeGroup, makeMember } from "./fixtures.ts";
import { expectFixtures, methodFixtures, partOf } from "./method-fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onCampaignServers, type Platform } from "./platform.ts";

/** A field, from the resource downwards. */
type Path = readonly DescField[];

/** A method that writes a resource. */
interface Writer {
  readonly name: string;
  /** The method that reads it. */
  readonly get: string;
  /** The JSON name of the request's field that holds it. */
  readonly key: string;
  readonly schema: DescMessage;
}

const writersNamed = (pattern: RegExp) =>
  [...methods.values()]
    .filter(({ name }) => pattern.test(name))
    .map((method): Writer => {
      const field = resourceField(method);
      return { name: method.name, get: `Get${field.message.name}`, key: field.jsonName, schema: field.message };
    });

const hasFixture = ({ name }: Writer) => methodFixtures[name] !== undefined;
const writers = { creates: writersNamed(/^Create/), updates: writersNamed(/^Update/) };
const creates = writers.creates.filter(hasFixture);
const updates = writers.updates.filter(hasFixture);

/** Messages that fixtures leave out although fields of the server's own are within. */
const completions: Record<string, Json> = { repo: { syncConfig: { source: "source" } } };

/** What the methods are tried over: the transcoded one and the binary one. */
const writtenOver = ["rest", "grpc"] as const;

onCampaignServers("field behavior", (platform) => {
  test("the contract has fields to try it on", () => {
    expectFixtures([...writers.creates, ...writers.updates].map(({ name }) => name));
    expect(creates.length).toBeGreaterThan(8);
    expect(updates.length).toBeGreaterThan(8);
    for (const { name, schema } of [...creates, ...updates])
      expect(leavesOf(schema, FieldBehavior.OUTPUT_ONLY).length, name).toBeGreaterThan(2);
    expect(updates.flatMap(({ schema }) => leavesOf(schema, FieldBehavior.IMMUTABLE)).length).toBeGreaterThan(3);
  });

  describe.each(writtenOver)("an output-only field, over %s,", (over) => {
    test.each(creates)("is not taken by $name", async ({ name, get, key, schema }) => {
      const plain = await creationOf(platform(), name, key);
      const forged = await creationOf(platform(), name, key);
      const leaves = leavesOf(schema, FieldBehavior.OUTPUT_ONLY);
      for (const path of leaves) put(forged[key], path, forgedValue(path));
      const stored = async (request: Json) => {
        const answer = await platform().ok(name, request, { over });
        const readable = methods.has(get) ? await platform().read(get, { uid: answer.uid }) : answer;
        expect(readable.uid).toBe(answer.uid);
        return [answer, readable];
      };
      const [expected] = await stored(plain);
      for (const made of await stored(forged)) {
        for (const path of leaves) {
          expect(at(made, path), nameOf(path)).not.toEqual(forgedValue(path));
          expect(typeof at(made, path), `${nameOf(path)} is set where the server sets it`).toBe(
            typeof at(expected, path),
          );
        }
      }
    });

    test.each(updates)("is not taken by $name, masked or not", async ({ name, get, key, schema }) => {
      const { before, uid } = await existing(platform(), name, get, key);
      // A body names its resource by uid, which is thereby no value to write.
      const leaves = leavesOf(schema, FieldBehavior.OUTPUT_ONLY).filter((path) => nameOf(path) !== "uid");
      const attempts = [...leaves.map((path) => [path]), leaves];
      for (const paths of attempts) {
        const body = { uid };
        for (const path of paths) put(body, path, forgedValue(path));
        const updateMask = ["uid", ...paths.map(jsonNameOf)].join(",");
        for (const request of [{ [key]: body }, { [key]: body, updateMask }]) {
          const what = paths.map(nameOf).join();
          expect(await platform().ok(name, request, { over }), what).toEqual(before);
          expect(await platform().read(get, { uid }), what).toEqual(before);
        }
      }
    });

    test.each(updates)("is not taken by $name beside a change", async ({ name, get, key, schema }) => {
      const request = await methodFixtures[name]!.request(platform(), await organisation(platform()));
      const leaves = leavesOf(schema, FieldBehavior.OUTPUT_ONLY).filter((path) => nameOf(path) !== "uid");
      const { uid } = partOf(request, name, key);
      for (const path of leaves) put(request[key], path, forgedValue(path));
      await platform().ok(name, request, { over });
      const after = await platform().read(get, { uid });
      for (const path of leaves) expect(at(after, path), nameOf(path)).not.toEqual(forgedValue(path));
    });
  });

  const immutable = updates.flatMap((writer) =>
    leavesOf(writer.schema, FieldBehavior.IMMUTABLE).map((path) => ({ ...writer, path, field: nameOf(path) })),
  );

  test.each(immutable)(
    "$name refuses to change $field, which is immutable",
    async ({ name, get, key, path, field }) => {
      const { before, uid } = await existing(platform(), name, get, key);
      const body = { uid };
      put(body, path, forgedValue(path));
      for (const more of [{}, { updateMask: jsonNameOf(path) }]) {
        const status = await platform().refused(name, { [key]: body, ...more }, "INVALID_ARGUMENT");
        expect(fieldsOf(status)).toEqual([field]);
        expect(await platform().read(get, { uid })).toEqual(before);
      }
    },
  );

  test.each(immutable)("$name takes $field as it is", async ({ name, get, key, path }) => {
    const { before, uid } = await existing(platform(), name, get, key);
    const body = { uid };
    put(body, path, at(before, path));
    for (const over of writtenOver)
      expect(await platform().ok(name, { [key]: body, updateMask: jsonNameOf(path) }, { over })).toEqual(before);
  });

  describe("what needs `internal` in a group", () => {
    const verified = { verified: true, kind: "ORG_KIND_CUSTOMER" };

    test("is refused to an owner, masked or not", async () => {
      const { uid } = await platform().ok("CreateGroup", { parent: "", group: { name: freshName() } });
      const { token } = await makeMember(platform(), uid, "owner");
      const before = await platform().read("GetGroup", { uid }, { as: token });
      await expectDenied(uid, token, verified);
      await expectDenied(uid, token, { verified: true });
      await expectDenied(uid, token, { kind: verified.kind });
      expect(await platform().read("GetGroup", { uid }, { as: token })).toEqual(before);

      const admitted = await platform().ok("UpdateGroup", { group: { uid, ...verified } });
      expect(admitted).toMatchObject(verified);
      await expectDenied(uid, token, { verified: false });
      await expectDenied(uid, token, { kind: "ORG_KIND_UNSPECIFIED" });
      await expectDenied(uid, token, { name: freshName() });
      expect(await platform().read("GetGroup", { uid }, { as: token })).toEqual(admitted);
    });

    test("is refused below the root, to anybody", async () => {
      const { uid } = await makeGroup(platform());
      for (const [field, value] of Object.entries(verified)) {
        const group = { name: freshName(), [field]: value };
        const created = await platform().refused("CreateGroup", { parent: uid, group }, "INVALID_ARGUMENT");
        const updated = await platform().refused("UpdateGroup", { group: { uid, [field]: value } }, "INVALID_ARGUMENT");
        expect([fieldsOf(created), fieldsOf(updated)]).toEqual([[field], [field]]);
      }
    });

    async function expectDenied(uid: string, as: string, change: Json): Promise<void> {
      const request = { group: { uid, ...change }, updateMask: Object.keys(change).join(",") };
      await platform().refused("UpdateGroup", request, "PERMISSION_DENIED", { as });
      const { updateMask: _, ...unmasked } = request;
      // Without a mask a binary request cannot clear.
      if (Object.values(change).every((value) => value !== false && value !== "ORG_KIND_UNSPECIFIED"))
        await platform().refused("UpdateGroup", unmasked, "PERMISSION_DENIED", { as });
    }
  });
});

/** A request that makes a resource. */
async function creationOf(platform: Platform, name: string, key: string): Promise<Json> {
  const request = structuredClone(await methodFixtures[name]!.request(platform, await organisation(platform)));
  Object.assign(partOf(request, name, key), structuredClone(completions[key]));
  return request;
}

/** A resource that an update can be tried on, complete. */
async function existing(platform: Platform, name: string, get: string, key: string) {
  const request = await methodFixtures[name]!.request(platform, await organisation(platform));
  const { uid } = partOf(request, name, key);
  if (completions[key] !== undefined) await platform.ok(name, { [key]: { uid, ...completions[key] } });
  return { uid, before: await platform.read(get, { uid }) };
}

async function organisation(platform: Platform): Promise<string> {
  return (await platform.ok("CreateGroup", { parent: "", group: { name: freshName() } })).uid;
}

function resourceField(method: DescMethodUnary): DescField & { message: DescMessage } {
  const field = method.input.fields.find(({ message }) => message !== undefined && hasOption(message, resource));
  if (field?.message === undefined) throw new Error(`${method.name} writes no resource`);
  return field as DescField & { message: DescMessage };
}

/** Every value, at any depth of single messages, that a field of that behavior holds. */
function leavesOf(schema: DescMessage, behavior: FieldBehavior, isWithin = false): Path[] {
  return schema.fields.flatMap((field): Path[] => {
    const isMeant = isWithin || getOption(field, field_behavior).includes(behavior);
    if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf."))
      return leavesOf(field.message, behavior, isMeant).map((path) => [field, ...path]);
    return isMeant ? [[field]] : [];
  });
}

/** A value of the field's type that the server would never set. */
function forgedValue(path: Path): Json {
  const field = path.at(-1)!;
  if (field.fieldKind === "map") return { forged: 424242 };
  const value = forgedElement(field);
  return field.fieldKind === "list" ? [value] : value;
}

function forgedElement(field: DescField): Json {
  if (field.enum !== undefined) return field.enum.values.at(-1)!.name;
  if (field.message?.typeName === "google.protobuf.Timestamp") return "2001-01-01T00:00:00.000Z";
  if (field.message !== undefined) throw new Error(`no value is known for a ${field.message.typeName}`);
  if (field.scalar === ScalarType.BOOL) return true;
  return field.scalar === ScalarType.STRING ? "forged" : 424242;
}

function put(message: Json, path: Path, value: Json): void {
  const [field, ...rest] = path as [DescField, ...Path];
  if (rest.length === 0) message[field.jsonName] = value;
  else {
    message[field.jsonName] ??= {};
    put(message[field.jsonName], rest, value);
  }
}

function at(message: Json, path: Path): Json {
  return path.reduce((value, field) => value?.[field.jsonName], message);
}

function nameOf(path: Path): string {
  return path.map(({ name }) => name).join(".");
}

function jsonNameOf(path: Path): string {
  return camelCase(nameOf(path));
}
