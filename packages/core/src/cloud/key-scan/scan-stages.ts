import { orAbort } from '@nodepool/zk-protocol';
import { KeyScanError, messageOf } from './errors.js';
import type { FirstAnswer, HostScan } from './host-scan.js';
import { systemLookup, type HostLookup } from './resolve.js';

/** Input of the stages of a scan. */
export interface ScanWork {
  readonly host: string;
  readonly port: number;
  readonly lookup: HostLookup | undefined;
  /** Read host keys; otherwise an open port is enough. */
  readonly wantsKeys: boolean;
  /** Aborted at the time limit, or with the caller's signal. */
  readonly signal: AbortSignal;
  /** Starts a scan of the host at this address. */
  readonly begin: (address: string) => HostScan;
}

/** Stage of a scan. */
export type ScanStage =
  | { readonly name: 'resolving-name' }
  | { readonly name: 'reaching-port'; readonly scan: HostScan }
  | { readonly name: 'first-handshake'; readonly scan: HostScan }
  | { readonly name: 'further-handshakes'; readonly scan: HostScan; readonly answer: FirstAnswer };

/** The next stage, or the keys that were read. */
export type ScanStep = ScanStage | { readonly name: 'done'; readonly keys: string[] };

/** Allowed next steps of each stage. A stage that throws fails the scan. */
interface Next {
  readonly 'resolving-name': 'reaching-port' | 'first-handshake';
  readonly 'reaching-port': 'done';
  readonly 'first-handshake': 'further-handshakes';
  readonly 'further-handshakes': 'done';
}

type StageOf<Name extends ScanStep['name']> = Extract<ScanStep, { readonly name: Name }>;

type Stages = {
  readonly [Name in ScanStage['name']]: {
    readonly next: readonly Next[Name][];
    run(work: ScanWork, stage: StageOf<Name>): Promise<StageOf<Next[Name]>>;
  };
};

/** A scan of one host, stage by stage. `docs/state-machines.md` has the picture. */
export const SCAN_STAGES = {
  'resolving-name': {
    next: ['reaching-port', 'first-handshake'],
    async run(work) {
      const scan = work.begin(await resolveAddress(work, work.signal));
      return { name: work.wantsKeys ? 'first-handshake' : 'reaching-port', scan };
    },
  },
  'reaching-port': {
    next: ['done'],
    async run({ signal }, { scan }) {
      await scan.reachPort(signal);
      return { name: 'done', keys: [] };
    },
  },
  'first-handshake': {
    next: ['further-handshakes'],
    async run({ signal }, { scan }) {
      return { name: 'further-handshakes', scan, answer: await scan.firstAnswer(signal) };
    },
  },
  'further-handshakes': {
    next: ['done'],
    async run({ signal }, { scan, answer }) {
      return { name: 'done', keys: await scan.readKeys(answer, signal) };
    },
  },
} satisfies Stages;

/** Runs one stage. @throws the scan has failed */
export function runScanStage(stage: ScanStage, work: ScanWork): Promise<ScanStep> {
  switch (stage.name) {
    case 'resolving-name':
      return SCAN_STAGES['resolving-name'].run(work);
    case 'reaching-port':
      return SCAN_STAGES['reaching-port'].run(work, stage);
    case 'first-handshake':
      return SCAN_STAGES['first-handshake'].run(work, stage);
    case 'further-handshakes':
      return SCAN_STAGES['further-handshakes'].run(work, stage);
  }
}

/** The first address of a host. @throws {KeyScanError} it has none */
export async function resolveAddress(
  { host, port, lookup = systemLookup }: { host: string; port: number; lookup?: HostLookup | undefined },
  signal: AbortSignal,
): Promise<string> {
  try {
    return (await orAbort(lookup(host), signal)).address;
  } catch (error) {
    signal.throwIfAborted();
    throw new KeyScanError({
      host,
      port,
      failure: 'unresolved',
      message: `the name has no address (${messageOf(error)}): correct it or add it to the name service`,
      cause: error,
    });
  }
}
