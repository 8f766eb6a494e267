import { scanHostKeys, type ScanHostKeysOptions } from '@nodepool/core/ssh';
import { steadyNow, type Clock } from '@nodepool/zk-protocol';

/** Maximum age of keys that another user of the host may take. */
const FRESH_MS = 1_000;

interface Scan {
  readonly keys: Promise<string[]>;
  /** Identities of hosts that use its result. */
  readonly users: Set<string>;
  readonly onFailure: Set<(error: unknown) => void>;
  /** In steady milliseconds; `undefined`: it runs. */
  endedMs: number | undefined;
}

/** One scan for all entries of one host, which differ in the user name: sshd counts connections by address. */
export class SharedScans {
  readonly #clock: Clock;
  readonly #scan: typeof scanHostKeys;
  readonly #scans = new Map<string, Scan>();

  constructor(clock: Clock, scan = scanHostKeys) {
    this.#clock = clock;
    this.#scan = scan;
  }

  /** Reads the keys of a host, or takes those that another entry is reading or has just read. */
  read(identity: string, options: ScanHostKeysOptions): Promise<string[]> {
    const { host, port, connectionType, timeoutMs } = options;
    const key = [host, port, connectionType, timeoutMs].join(' ');
    const known = this.#scans.get(key);
    const scan = known && this.#isUsable(known, identity) ? known : this.#begin(key, options);
    scan.users.add(identity);
    if (options.onFailure) scan.onFailure.add(options.onFailure);
    return scan.keys;
  }

  #isUsable({ users, endedMs }: Scan, identity: string): boolean {
    if (users.has(identity)) return false;
    return endedMs === undefined || steadyNow(this.#clock) - endedMs <= FRESH_MS;
  }

  #begin(key: string, options: ScanHostKeysOptions): Scan {
    const onFailure: Scan['onFailure'] = new Set();
    const keys = this.#scan({ ...options, onFailure: (error) => onFailure.forEach((notify) => notify(error)) });
    const scan: Scan = { keys, users: new Set(), onFailure, endedMs: undefined };
    this.#scans.set(key, scan);
    const forget = () => this.#scans.get(key) === scan && this.#scans.delete(key);
    keys.then(() => (scan.endedMs = steadyNow(this.#clock)), forget);
    return scan;
  }
}
