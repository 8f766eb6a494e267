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
  /** Own public key, of which a server makes certificates; `undefined`: a new one. */
  readonly sshKeyFile: string | undefined;
}

/** Nodes to acquire, and their purpose. */
export interface AcquireOptions extends AcquireArguments {
  /** Stored with the nodes. */
  readonly purpose: string;
  /** This process logs in to the nodes, with this private key; without one, with any that `ssh` finds. */
  readonly login?: { readonly identity: string | undefined };
}
