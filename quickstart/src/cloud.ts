/** Where machines come and go: the simulated cloud, or a daemon of the user. */
export interface Cloud {
  /** Directory of its files; images are built below it. */
  readonly dir: string;
  /** Private key of who may log in to its machines. */
  readonly key: string;
  /** What the configuration refers to. */
  readonly env: Readonly<Record<string, string>>;
  /** Script and arguments that end it when everything else was killed. */
  readonly stopCommand: readonly string[] | undefined;
  /** Makes what its machines need. @throws QuickStartError it cannot be used, with what is missing */
  prepare(): Promise<void>;
  /** How many machines there are, whatever Nodepool knows of them. */
  countMachines(): Promise<number>;
  /** Ends it when nothing uses it any more. */
  stop(): Promise<void>;
}
