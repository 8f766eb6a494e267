/** How the way between a client and the server behaves. Asked for each packet, so that it may change at any time. */
export interface LinkConditions {
  /** Milliseconds until what was sent in one go reaches the server. */
  requestDelayMs(): number;
  /** Milliseconds until what the server sent in one go reaches the client. */
  replyDelayMs(): number;
  /** Milliseconds that an attempt to connect takes. */
  connectDelayMs(): number;
  /** False: the attempt to connect fails. */
  canConnect(): boolean;
  /** The connection breaks with `count` bytes on their way to the server: how many of them, the first ones, still arrive. */
  survivors(count: number): number;
}

/** Nothing takes time and nothing fails. */
export const perfectConditions: LinkConditions = {
  requestDelayMs: () => 0,
  replyDelayMs: () => 0,
  connectDelayMs: () => 0,
  canConnect: () => true,
  survivors: (count) => count,
};
