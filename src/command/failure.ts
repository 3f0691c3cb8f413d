/** A failure of a command that is printed as it is, without a stack; nothing is printed if the message is empty. */
export class CommandFailure extends Error {
  /** Of the process. */
  readonly exitStatus: number;

  constructor(message: string, exitStatus = 1) {
    super(message);
    this.exitStatus = exitStatus;
  }
}
