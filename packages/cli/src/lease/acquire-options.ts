import type { ServerArguments } from '../connection/server.js';

/** Nodes to acquire, as given on the command line. */
export interface AcquireArguments {
  readonly labels: readonly string[];
  readonly provider: string | undefined;
  readonly priority: number;
  /** Give up after this long; `undefined` waits indefinitely. */
  readonly timeoutMs: number | undefined;
  /** Print nothing while waiting. */
  readonly quiet: boolean;
  /** Also request labels that no launcher offers. */
  readonly force: boolean;
  readonly server: ServerArguments;
}

/** Nodes to acquire, and their purpose. */
export interface AcquireOptions extends AcquireArguments {
  /** Stored with the nodes. */
  readonly purpose: string;
}
