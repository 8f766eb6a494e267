/** A proven identity of a connection, or its address. */
export interface AuthId {
  scheme: string;
  id: string;
}

/** A client's connection: the owner of watches and identities. */
export interface ModelConnection {
  /** Attached session; `0n` if there is none. */
  sessionId: bigint;
  /** The first is the client's address. */
  readonly auth: AuthId[];
}
