/** What a stand-in begins with. */
export interface StandInOptions {
  /** Path of a file or folder of documents, as `platform apply -f` takes them. */
  readonly seed?: string;
  /** Where its clock stands still. By default it goes. A text is an RFC 3339 time. */
  readonly clock?: Date | string;
  /** A number from which all uids follow. By default they are random. */
  readonly uidSeed?: number;
  /** More arguments of `platform serve`. */
  readonly args?: readonly string[];
}

/** A running stand-in: a server with all of its data in memory. */
export interface StandIn extends AsyncDisposable {
  /** `http://127.0.0.1:41234`. */
  readonly baseUrl: string;
  /** A token of the administrator. */
  readonly token: string;
  /** The uid of the first group. */
  readonly rootGroup: string;
  /** Stops it and waits for its end. May be called again. */
  stop(): Promise<void>;
}
