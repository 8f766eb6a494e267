/** An identity a connection has proved, or has by its address. */
export interface AuthId {
  scheme: string;
  id: string;
}

/** A client's connection as the model sees it: the owner of watches and identities. */
export interface ModelConnection {
  /** Session it is attached to; `0n` before that. */
  sessionId: bigint;
  /** Starts with the peer's address. */
  readonly auth: AuthId[];
}
