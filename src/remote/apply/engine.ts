/** Makes resources as documents describe them. */
import { type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { findType } from "../catalog/contract.ts";
import { kebab, type ResourceEntry } from "../catalog/resources.ts";
import { type Difference, differencesOf, mergedFields, pathsOf } from "../documents/differences.ts";
import { isSingleton } from "../documents/identity.ts";
import { uidOf } from "../documents/lookup.ts";
import { createResource, deleteResource, type Resource, updateResource } from "../documents/requests.ts";
import { FieldFailure, PlacedFailure, pathOfField, sourceBelow, type ValuePath } from "../documents/source.ts";
import { checkValues, hasBehavior, messageOf, type Reference } from "../documents/spec.ts";
import { failureOf } from "../session/failure.ts";
import type { Session } from "../session/session.ts";
import { ExistingResources } from "./existing.ts";
import type { PlannedDocument } from "./plan.ts";
import type { ApplyRecord, RecordedResource } from "./record.ts";
import { creationLines, differenceLines, type Report, secretLines } from "./report.ts";
import { runInOrder } from "./schedule.ts";

/**
 * `apply` changes resources, `validate` has the server check the changes (`validate_only`), `compare` sends no change.
 */
export type Mode = "apply" | "validate" | "compare";

/** The uid of what would be created. */
const futureUid = "0".repeat(40);

/** One run over documents. */
export class Apply {
  /** Of the first failure; undefined if there is none. */
  failure: CommandFailure | undefined;
  /** Why it was stopped; undefined if it was not, or by a failure that is reported. */
  stopped: CommandFailure | undefined;
  readonly #session: Session;
  readonly #mode: Mode;
  readonly #report: Report;
  readonly #record: ApplyRecord | undefined;
  readonly #documents: readonly PlannedDocument[];
  readonly #existing: ExistingResources;
  readonly #uids = new Map<PlannedDocument, string>();
  readonly #lookups = new Map<string, Promise<string>>();
  #isStopped = false;

  constructor(
    session: Session,
    mode: Mode,
    report: Report,
    record: ApplyRecord | undefined,
    documents: readonly PlannedDocument[],
  ) {
    this.#session = session;
    this.#mode = mode;
    this.#report = report;
    this.#record = record;
    this.#documents = documents;
    this.#existing = new ExistingResources(session, documents);
  }

  /** Starts nothing more; what is under way ends. */
  stop(failure: CommandFailure): void {
    this.failure ??= failure;
    this.stopped ??= failure;
    this.#isStopped = true;
  }

  /**
   * Applies the documents. A failure is reported, and ends those that depend on it.
   * @param concurrency how many are applied at once; 1 for an order that is always the same.
   */
  async run(concurrency?: number): Promise<void> {
    this.#report.expect(this.#documents.length);
    const positions = new Map(this.#documents.map((document, position) => [document, position]));
    await runInOrder(
      this.#documents,
      ({ dependencies }) => dependencies,
      (document) =>
        this.#attempt(
          positions.get(document)!,
          (error) => document.source.placeOf(refusedPath(document, error)),
          () => this.#apply(document, positions.get(document)!),
        ),
      (document, failed) =>
        this.#skip(
          positions.get(document)!,
          `${document.source.placeOf([])}: it depends on ${failed.label} (${failed.place})`,
        ),
      () => this.#isStopped,
      concurrency,
    );
    this.#report.endProgress();
  }

  /** What an earlier apply created and no document describes any more. */
  leftovers(): RecordedResource[] {
    const described = new Set([...this.#uids].map(([{ resource }, uid]) => `${resource.type} ${uid}`));
    return (this.#record?.resources ?? []).filter(({ type, uid }) => !described.has(`${type} ${uid}`));
  }

  /** Deletes leftovers, what refers to others first. */
  async prune(leftovers: readonly RecordedResource[]): Promise<void> {
    this.#report.expect(leftovers.length);
    const positions = new Map(leftovers.map((resource, index) => [resource, this.#documents.length + index]));
    await runInOrder(
      leftovers,
      (resource) => leftovers.filter((other) => other !== resource && other.uses.includes(resource.uid)),
      (resource) =>
        this.#attempt(
          positions.get(resource)!,
          () => resource.label,
          () => this.#delete(resource, positions),
        ),
      (resource, failed) => this.#skip(positions.get(resource)!, `${resource.label}: ${failed.label} depends on it`),
      () => this.#isStopped,
    );
    this.#report.endProgress();
  }

  /** Reports that something is not attempted; after a stop that holds for all that is left. */
  #skip(position: number, message: string): void {
    if (!this.#isStopped) this.#report.fail(position, "skipped", [message]);
  }

  /** @param about what an error is about: its place in the documents, or the label of a resource. */
  async #attempt(position: number, about: (error: unknown) => string, change: () => Promise<void>): Promise<boolean> {
    try {
      await change();
      return true;
    } catch (error) {
      const { failure, concernsAll } = failureOf(error, this.#session.server);
      this.failure ??= failure;
      const isReported = concernsAll && this.#isStopped;
      if (concernsAll) this.#isStopped = true;
      const lines = failure instanceof PlacedFailure ? failure.lines : failure.linesAfter(about(error));
      this.#report.fail(position, "failed", isReported ? [] : lines);
      return false;
    }
  }

  async #apply(document: PlannedDocument, position: number): Promise<void> {
    try {
      await this.#change(document, position);
    } catch (error) {
      throw error instanceof FieldFailure ? error.at(sourceBelow(document.source, ["spec"])) : error;
    }
  }

  async #change(document: PlannedDocument, position: number): Promise<void> {
    const { resource, spec, place } = document;
    if (document.parent !== undefined) document.parentUid = await this.#resolve(document, document.parent);
    const written = structuredClone(spec.fields);
    const uids = await Promise.all(spec.references.map((reference) => this.#resolve(document, reference)));
    for (const [index, reference] of spec.references.entries()) reference.resolve(uids[index]!);
    if (spec.ignored.length > 0 && this.#mode !== "compare")
      this.#report.note(`${place}: ignored what the server sets: ${spec.ignored.join(", ")}`);
    const isFuture = [document.parentUid, ...uids].includes(futureUid);
    const existing = isFuture ? undefined : await this.#existing.find(document);
    if (existing !== undefined) return this.#update(document, existing, position);
    const message = messageOf(resource.schema, spec.fields);
    await checkValues(resource.schema, message);
    const lines = creationLines(resource.schema, written);
    if (isSingleton(resource)) return this.#report.add(position, "updated", document.label, lines);
    if (this.#mode === "compare" || isFuture) {
      this.#uids.set(document, futureUid);
      return this.#report.add(position, "created", document.label, lines);
    }
    const isApplied = this.#mode === "apply";
    const created = await createResource(this.#session, resource, document.parentUid, message, !isApplied);
    const uid = isApplied ? created.uid : futureUid;
    this.#uids.set(document, uid);
    const uses = [...new Set([document.parentUid, ...uids])].filter((used) => used !== "");
    if (isApplied) await this.#note((record) => record.add({ type: resource.type, uid, label: document.label, uses }));
    const secrets = isApplied ? secretLines(resource.schema, created) : [];
    this.#report.add(position, "created", document.label, [...lines, ...secrets]);
  }

  async #update(document: PlannedDocument, existing: Resource, position: number): Promise<void> {
    const { resource, spec, label } = document;
    const { schema } = resource;
    this.#uids.set(document, existing.uid);
    const before = toJson(schema, existing, { alwaysEmitImplicit: true }) as JsonObject;
    const wanted = messageOf(schema, mergedFields(schema, before, spec.fields));
    const after = toJson(schema, wanted, { alwaysEmitImplicit: true }) as JsonObject;
    const differences = differencesOf(schema, spec.fields, before, after);
    if (differences.length === 0) return this.#report.add(position, "unchanged", label, []);
    await checkValues(schema, wanted, (jsonName) => jsonName in spec.fields);
    await this.#send(document, wanted, after, differences);
    this.#report.add(position, "updated", label, differenceLines(schema, differences));
  }

  /** Sends an update or, where the API has none, the creation that replaces. */
  async #send(
    { resource, parentUid }: PlannedDocument,
    wanted: Message,
    after: JsonObject,
    differences: readonly Difference[],
  ): Promise<void> {
    const paths = pathsOf(differences);
    const fixed = differences.filter(({ isImmutable }) => isImmutable).map(({ path }) => path);
    if (fixed.length > 0)
      throw new CommandFailure(`${fixed.join(", ")} cannot change after creation: delete it and apply again`, 5);
    const isDry = this.#mode !== "apply";
    if (resource.methods.Update !== undefined) {
      if (this.#mode !== "compare")
        await updateResource(this.#session, resource, wanted, paths, { validateOnly: isDry });
      return;
    }
    if (!isReplacedByCreate(resource))
      throw new CommandFailure(`${resource.plural} cannot be updated (${paths.join(", ")})`, 5);
    const given = resource.schema.fields.filter((field) => !hasBehavior(field, FieldBehavior.OUTPUT_ONLY));
    const fields = Object.fromEntries(
      given.flatMap(({ jsonName }) => (after[jsonName] === undefined ? [] : [[jsonName, after[jsonName]]])),
    );
    const message = messageOf(resource.schema, fields);
    if (this.#mode !== "compare") await createResource(this.#session, resource, parentUid, message, isDry);
  }

  async #delete(recorded: RecordedResource, positions: ReadonlyMap<RecordedResource, number>): Promise<void> {
    const { type, uid, label } = recorded;
    const resource = findType(type);
    if (resource === undefined) throw new CommandFailure(`this version knows no ${type}`);
    const lines: string[] = [];
    if (this.#mode !== "compare")
      try {
        await deleteResource(this.#session, resource, { uid, validateOnly: this.#mode === "validate" });
      } catch (error) {
        if (failureOf(error, this.#session.server).failure.exitStatus !== 3) throw error;
        lines.push("    (it did not exist any more)");
      }
    if (this.#mode === "apply") await this.#note((record) => record.remove(recorded));
    this.#report.add(positions.get(recorded)!, "pruned", label, lines);
  }

  /**
   * Changes the record. If it cannot be written, the apply ends: what is done is reported, and nothing more is done.
   */
  async #note(change: (record: ApplyRecord) => Promise<void>): Promise<void> {
    if (this.#record === undefined) return;
    try {
      await change(this.#record);
    } catch (error) {
      this.stop(new CommandFailure(`cannot write the record ${this.#record.file}: ${(error as Error).message}`));
    }
  }

  /** The uid of a reference: of the resource of another document, or of one that the server has. */
  async #resolve({ needs, source }: PlannedDocument, reference: Reference): Promise<string> {
    const { type, text, path } = reference;
    const document = needs.get(reference);
    if (document !== undefined) return this.#uids.get(document)!;
    const key = `${type} ${text}`;
    let lookup = this.#lookups.get(key);
    if (lookup === undefined) {
      lookup = uidOf(this.#session, type, text);
      this.#lookups.set(key, lookup);
    }
    try {
      return await lookup;
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      throw new FieldFailure([{ path, text: error.message }], error.exitStatus).at(source);
    }
  }
}

/** The path in a document of the first field that the server refuses. */
function refusedPath({ resource }: PlannedDocument, error: unknown): ValuePath {
  const [violation] = error instanceof PlatformError ? error.violations : [];
  if (violation === undefined) return [];
  const path = pathOfField(violation.field);
  return ["spec", ...(path[0] === kebab(resource.kind).replaceAll("-", "_") ? path.slice(1) : path)];
}

/** Whether Create replaces a resource of the same identity: it has no Update and is idempotent. */
function isReplacedByCreate({ methods: { Create } }: ResourceEntry): boolean {
  return Create?.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT;
}
