import type { ApiImage, ApiInstance, ApiOperation } from '../../src/api.js';

/** An instance of the fake daemon. */
export interface FakeInstance {
  readonly shown: ApiInstance & { status: string; config: Record<string, string> };
  readonly ephemeral: boolean;
  /** When it has an address; `undefined`: never. */
  addressMs: number | undefined;
  /** Operation that is running on it. */
  busy: 'create' | 'start' | 'stop' | 'delete' | undefined;
  readonly files: Map<string, string>;
  readonly address: string;
}

/** What the next creation does instead. */
export type Fate = 'quota' | 'capacity' | 'lost-reply' | 'error-state' | 'never-ready';

/** Durations, ms. */
export interface FakeTimes {
  readonly createMs: number;
  readonly startMs: number;
  readonly addressMs: number;
  readonly stopMs: number;
  readonly deleteMs: number;
}

/** Everything that the fake daemon knows. */
export interface FakeState {
  readonly instances: Map<string, FakeInstance>;
  /** Instances of other projects. */
  readonly elsewhere: ApiInstance[];
  readonly images: Map<string, ApiImage>;
  readonly operations: Map<string, ApiOperation>;
  readonly projectConfig: Record<string, string>;
  readonly profiles: Set<string>;
  readonly storagePools: Set<string>;
  readonly trusted: Set<string>;
  readonly fates: Fate[];
  /** Calls that are refused with 503. */
  unavailable: number;
  times: FakeTimes;
}

/** A state without instances. */
export function emptyState(): FakeState {
  return {
    instances: new Map(),
    elsewhere: [],
    images: new Map(),
    operations: new Map(),
    projectConfig: {},
    profiles: new Set(['default']),
    storagePools: new Set(['default']),
    trusted: new Set(),
    fates: [],
    unavailable: 0,
    times: { createMs: 1_000, startMs: 500, addressMs: 2_000, stopMs: 300, deleteMs: 500 },
  };
}
