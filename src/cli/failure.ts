/** A failure to tell the user about in one line, without a stack. */
export class CommandFailure extends Error {}
