/**
 * translation: services of an older version of an API, carried out by the handlers of the newer one.
 *
 * Tables say what differs between the messages of both. All else must be equal: a field or an enum value that is
 * neither equal nor in a table stops the server when it starts. It knows no domain.
 */
export {
  type Conversion,
  type MessageTable,
  type Tables,
  Translator,
} from "./messages.ts";
export {
  carriedOutBy,
  type Handler,
  type MethodTranslations,
  setCarriedOut,
  translateMethods,
} from "./methods.ts";
export { isWholeList, wholeListAnswer } from "./whole-list.ts";
