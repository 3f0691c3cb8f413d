/**
 * fairness: whom work counts against, and queues that are shared fairly.
 *
 * The work of a call counts against the organisation that it is about if its caller holds a grant there, else against
 * the caller; that of a request without a known caller against its address. A part that shares something, as the event
 * loop (`http`), connections of a database (`store`) or the number of calls (`pipeline`), divides it by account first,
 * then by caller, and refuses first those who have most.
 */
export { AccountTurns } from "./account-turns.ts";
export { FairQueue, hasShare, waitIn } from "./fair-queue.ts";
export { chargeCallAt, chargeCallIn, createPayer, nobody, type Pause, type Payer, type WorkPayer } from "./payer.ts";
