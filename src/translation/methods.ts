/**
 * Methods of an older version, carried out by the handlers of the newer one: in the same session, with the same grants
 * and rules. Errors name the fields of the older messages.
 */
import { setImmediate as turn } from "node:timers/promises";
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  isFieldSet,
  type Message,
} from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { field as fieldOption, Ignore } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { Code, ConnectError, type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { type UidpFilter, UidpFilterSchema } from "../../gen/platform/common/uidp_filter_pb.ts";
import { getOption } from "../annotations.ts";
import { knownCallerOf, scopesOf } from "../auth/index.ts";
import { type Awaitable, chain, tryChain } from "../awaitable.ts";
import { localOf, type MessageParts, type StoredMessage, wholeMessage, zeroMessage } from "../codec/index.ts";
import { violationsOf } from "../contract/index.ts";
import { invalid, resourceExhausted } from "../errors.ts";
import { covers } from "../uid.ts";
import type { Translation, Translator } from "./messages.ts";
import { MethodContext } from "./method-context.ts";
import { wholeListAnswer } from "./whole-list.ts";

/** A unary handler. */
export type Handler = {
  handle(request: Message, context: HandlerContext): Awaitable<Message | StoredMessage | MessageParts>;
}["handle"];

/** What {@link translateMethods} needs. */
export interface TranslationOptions {
  readonly translator: Translator;
  /** The handler of a method of the newer version. */
  handlerOf(method: DescMethod): Handler;
  /** The most items of a list that is answered whole. `setting`: names it in errors. */
  maxItems(): number;
  readonly setting: string;
  /** Called for every call of an older method that has succeeded. `newer`: its successor, if it has one. */
  onSuccess?(older: DescMethod, newer: DescMethod | undefined, context: HandlerContext): void;
}

/** The call of a newer method that carried out an older one. */
export interface CarriedOut {
  readonly method: DescMethodUnary;
  readonly request: Message;
  readonly response: Message;
}

const carriedOutKey = createContextKey<CarriedOut | undefined>(undefined);

/** What carried out a call; undefined for a method of the newest version. */
export function carriedOutBy(values: ContextValues): CarriedOut | undefined {
  return values.get(carriedOutKey);
}

/** Records what carried out a call, for its events. */
export function setCarriedOut(values: ContextValues, carriedOut: CarriedOut): void {
  values.set(carriedOutKey, carriedOut);
}

/** A newer request, completed from the older one beyond what the tables say. */
type Complete = { complete(request: Message, query: Message): Message }["complete"];

/** How a list is carried out. */
export interface ListOptions {
  /** The method that reads one resource by its uid, for filters by id. */
  readonly get?: DescMethod;
  /** The filter that holds the id of one resource; default `id`, "" for none. */
  readonly idField?: string;
  /** Whether `get` may be asked for any id, because it decides itself who may read it. */
  readonly isPublic?: boolean;
  readonly complete?: Complete;
  /** Completes items from elsewhere. */
  supply?(items: readonly Message[], context: HandlerContext): Awaitable<void>;
}

/** Carries out a call of an older method by a newer one. Errors name the fields of the newer request. */
export type CarryOut = (request: Message, context: HandlerContext) => Awaitable<Message>;

/** The makers of handlers for older methods. */
export interface MethodTranslations {
  /** A method whose request and response are translated as they are. */
  call(older: DescMethod, newer: DescMethod, complete?: Complete): Handler;
  /** An update by a whole resource: what the request omits is reset. */
  replace(older: DescMethod, newer: DescMethod): Handler;
  /** A list that is answered whole. */
  list(older: DescMethod, newer: DescMethod, options?: ListOptions): Handler;
  /**
   * A method of its own. `newer`: the method that succeeds it and whose fields its errors name. A read of something
   * that is missing answers an empty message.
   */
  custom(older: DescMethod, newer: DescMethod | undefined, handle: Handler): Handler;
  /** What {@link call} does, for a handler that does more. */
  calling(newer: DescMethod, request: DescMessage, response: DescMessage, complete?: Complete): CarryOut;
  /** What {@link replace} does, for a handler that does more. */
  replacing(newer: DescMethod, resource: DescMessage): CarryOut;
  /** Calls the handler of a newer method, within a call of an older one. */
  invoke(method: DescMethod, request: Message, context: HandlerContext): Awaitable<Message>;
  translate(older: DescMessage, newer: DescMessage): Translation;
}

/** Items of the newer method per page, while a list is read whole. */
const pageSize = 100;

/** Makes the handlers of older methods. */
export function translateMethods(options: TranslationOptions): MethodTranslations {
  const { translator, handlerOf, maxItems, setting, onSuccess } = options;

  const invoke: MethodTranslations["invoke"] = (method, request, context) =>
    chain(handlerOf(method)(request, new MethodContext(context, method)), (response) =>
      wholeMessage(response as Message | StoredMessage),
    );

  const custom = (older: DescMethod, newer: DescMethod | undefined, handle: Handler): Handler => {
    const translations = translationsIn(translator, older, newer);
    const bodies = older.input.fields.filter(isUncheckedBody);
    const isRead = getOption(older, http).pattern.case === "get";
    const empty = zeroMessage(older.output);
    return (request, context) =>
      tryChain(
        () => {
          for (const { localName, message } of bodies)
            checkRules(message!, localOf(request)[localName] as Message | undefined);
          return handle(request, context);
        },
        (response) => {
          onSuccess?.(older, newer, context);
          return response;
        },
        (error) => {
          if (!isRead || !(error instanceof ConnectError) || error.code !== Code.NotFound)
            throw withOlderFields(translations, error);
          onSuccess?.(older, newer, context);
          return empty();
        },
      );
  };

  const carryOut = (newer: DescMethod, output: DescMessage, toRequest: (request: Message) => Message): CarryOut => {
    const answer = output === newer.output ? undefined : translator.between(output, newer.output);
    return (message, context) => {
      const request = toRequest(message);
      return chain(invoke(newer, request, context), (response) => {
        setCarriedOut(context.values, { method: newer as DescMethodUnary, request, response });
        return answer === undefined ? response : answer.toOlder(response);
      });
    };
  };

  const calling: MethodTranslations["calling"] = (newer, input, output, complete) => {
    const translation = translator.between(input, newer.input);
    return carryOut(newer, output, (request) => {
      const query = translation.toNewer(request);
      return complete === undefined ? query : complete(request, query);
    });
  };

  const replacing: MethodTranslations["replacing"] = (newer, resource) => {
    const field = newer.input.fields.find(({ message }) => message !== undefined && message === newer.output);
    if (field?.message === undefined) throw new Error(`${newer.name} updates no resource`);
    const translation = translator.between(resource, field.message);
    const paths = translation.pairs.flatMap(({ newer: [top, ...inner] }) =>
      top !== undefined && inner.length === 0 && isChangeable(top) ? [top.name] : [],
    );
    return carryOut(newer, resource, (request) => {
      const updateMask = create(FieldMaskSchema, { paths });
      return create(newer.input, { [field.localName]: translation.toNewer(request), updateMask });
    });
  };

  return {
    invoke,
    custom,
    calling,
    replacing,
    translate: (older, newer) => translator.between(older, newer),
    call: (older, newer, complete) => custom(older, newer, calling(newer, older.input, older.output, complete)),
    replace: (older, newer) => custom(older, newer, replacing(newer, older.input)),

    list(older, newer, { get, idField = "id", isPublic = false, complete, supply } = {}) {
      const request = translator.between(older.input, newer.input);
      const olderItems = itemsOf(older);
      const newerItems = itemsOf(newer);
      const item = translator.between(olderItems.message, newerItems.message);
      const empty = zeroMessage(older.output);
      const otherFilters = older.input.fields.filter(({ name }) => name !== idField);
      const answer = wholeListAnswer(older.output, `, or page with ${newer.parent.typeName}.${newer.name}`);

      const listOf = (found: readonly Message[], context: HandlerContext): Awaitable<Message> => {
        const items = found.map((each) => item.toOlder(each));
        return chain(supply?.(items, context), () => {
          const list = empty();
          list[olderItems.localName] = items;
          return list;
        });
      };

      /** All pages after the first. */
      async function* pagesAfter(first: Page, query: Message, context: HandlerContext): AsyncGenerator<Message> {
        for (let { pageToken } = first; pageToken !== ""; ) {
          await (knownCallerOf(context.values)?.payer?.pause() ?? turn());
          context.signal.throwIfAborted();
          const page = readPage(await invoke(newer, { ...query, pageSize, pageToken } as Message, context), newerItems);
          yield listOf(page.items, context);
          pageToken = page.pageToken;
        }
      }

      const readAll = (query: Message, context: HandlerContext): ReturnType<Handler> =>
        chain(invoke(newer, { ...query, pageSize } as Message, context), (response): ReturnType<Handler> => {
          const first = readPage(response, newerItems);
          if (first.total > maxItems())
            throw resourceExhausted(
              "list",
              `the list has ${first.total} items, more than ${maxItems()} (${setting}); filter it, or page with ${newer.parent.typeName}.${newer.name}`,
              undefined,
              { total: String(first.total), limit: String(maxItems()) },
            );
          if (first.pageToken === "") return listOf(first.items, context);
          const parts = (async function* () {
            yield await listOf(first.items, context);
            yield* pagesAfter(first, query, context);
          })();
          return answer(parts, context);
        });

      /** The one resource with this id, or none. */
      const readOne = (uid: string, method: DescMethod, context: HandlerContext): Awaitable<Message> =>
        tryChain(
          () => invoke(method, Object.assign(zeroMessage(method.input)(), { uid }), context),
          (resource) => listOf([resource], context),
          noneIfMissing,
        );

      const noneIfMissing = (error: unknown): Message => {
        const isMissing = error instanceof ConnectError && missing.includes(error.code);
        if (!isMissing) throw error;
        return empty();
      };

      return custom(older, newer, (message, context) => {
        const id = (localOf(message)[idField] as string | undefined) ?? "";
        if (id !== "" && get !== undefined && otherFilters.every((field) => !isFieldSet(message, field))) {
          const mayGet = isPublic || scopesOf(context).some((scope) => covers(scope, id));
          if (mayGet) return readOne(id, get, context);
        }
        const translated = request.toNewer(message);
        const query = complete === undefined ? translated : complete(message, translated);
        return tryChain(
          () => readAll(id === "" ? query : withId(query as Message & { uidp?: UidpFilter }, id), context),
          (answer) => answer,
          noneIfMissing,
        );
      });
    },
  };
}

/** The errors of a resource that is missing, or that the caller may not read. */
const missing: readonly Code[] = [Code.NotFound, Code.PermissionDenied];

/** A page of the newer list. */
interface Page {
  readonly items: readonly Message[];
  readonly pageToken: string;
  readonly total: number;
}

function readPage(response: Message, { localName }: { readonly localName: string }): Page {
  const { [localName]: items, nextPageToken = "", totalCount } = localOf(response);
  return {
    items: items as Message[],
    pageToken: nextPageToken as string,
    total: Number(totalCount ?? (items as Message[]).length),
  };
}

/** A query for a resource with this id that also meets the other filters. */
function withId(query: Message & { uidp?: UidpFilter }, id: string): Message {
  const { ids = [] } = query.uidp ?? {};
  const wanted = ids.length === 0 || ids.includes(id) ? [id] : [noUid];
  return { ...query, uidp: { ...(query.uidp ?? create(UidpFilterSchema)), ids: wanted } } as Message;
}

/** The uid of no resource: uids are random or those of built-in roles. */
const noUid = "0".repeat(40);

/** Whether an update may name the field. */
function isChangeable(field: DescField): boolean {
  const fixed: FieldBehavior[] = [FieldBehavior.IDENTIFIER, FieldBehavior.OUTPUT_ONLY, FieldBehavior.IMMUTABLE];
  return !getOption(field, field_behavior).some((behavior) => fixed.includes(behavior));
}

/** Whether a field is a resource whose value rules the method checks, so that errors name its fields alone. */
function isUncheckedBody(field: DescField): boolean {
  return field.fieldKind === "message" && getOption(field, fieldOption).ignore === Ignore.ALWAYS;
}

/** Errors: INVALID_ARGUMENT for a resource that breaks its own rules, before it is translated. */
function checkRules(desc: DescMessage, resource: Message | undefined): void {
  const violations = violationsOf(desc, resource ?? zeroMessage(desc)());
  if (violations.length > 0) throw invalid(violations);
}

function itemsOf({ output }: DescMethod) {
  const field = output.fields.find(({ fieldKind, message }) => fieldKind === "list" && message !== undefined);
  if (field?.message === undefined) throw new Error(`${output.typeName} has no list of messages`);
  return { localName: field.localName, message: field.message };
}

/** The translations of a request, and of the resource that it holds or is. */
function translationsIn(translator: Translator, older: DescMethod, newer: DescMethod | undefined): Translation[] {
  if (newer === undefined) return [];
  const found = translator.find(older.input, newer.input);
  const body = newer.input.fields.flatMap(({ message }) =>
    message === undefined ? [] : (translator.find(older.input, message) ?? []),
  );
  const within = found?.pairs.flatMap((pair) => pair.within ?? []) ?? [];
  return [found ?? [], body, within].flat();
}

/** An error with violations of a newer request, as one of the older request. */
function withOlderFields(translations: readonly Translation[], error: unknown): unknown {
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument || translations.length === 0)
    return error;
  const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  if (violations.length === 0) return error;
  const pathOf = (path: string) => {
    for (const translation of translations) {
      const found = translation.olderPath(path);
      if (found !== undefined) return found;
    }
    return path;
  };
  return invalid(violations.map(({ field, description }) => ({ field: pathOf(field), description })));
}
