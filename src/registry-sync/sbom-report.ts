/** What reading bills of materials reports, and when the registry counts as unavailable. */
import { FeedRefusal, RegistryFailure, RegistryRefusal } from "../feeds/index.ts";

/** Receives the results for images: `team/app@sha256:…`. */
export interface SbomReport {
  /** An image has bills of materials in the registry, or had them. */
  count(what: "added" | "changed" | "unchanged" | "removed"): void;
  refuse(name: string, reason: string): void;
  unread(member: string, name: string): void;
  /** Packages without a version, which are left out. */
  unversioned(count: number): void;
  /** The registry no longer has any bill of materials of the image, and what was read is kept. */
  gone(name: string): void;
}

/** Reports errors of requests and of content. */
export class SbomErrors {
  readonly #report: SbomReport;
  readonly #maxFailures: number;
  #failures = 0;

  /** @param maxFailures failures in a row after which the registry counts as unavailable. */
  constructor(report: SbomReport, maxFailures: number) {
    this.#report = report;
    this.#maxFailures = maxFailures;
  }

  /** Waits for an answer of the registry. */
  async answerOf<T>(request: Promise<T>): Promise<T> {
    const answer = await request;
    this.#failures = 0;
    return answer;
  }

  /**
   * Reports what cannot be read.
   * @param what the part of it, as a prefix of the reason.
   * Errors: that of a registry that is unavailable, and errors that are bugs.
   */
  refuse(name: string, error: unknown, what = ""): void {
    const isFailure = error instanceof RegistryFailure;
    if (!isFailure && !(error instanceof RegistryRefusal) && !(error instanceof FeedRefusal)) throw error;
    if (isFailure && ++this.#failures >= this.#maxFailures) throw error;
    this.#report.refuse(name, `${what}${error.message}`);
  }
}
