import { ERROR_REASONS, type ErrorReason } from '../../conditions/error-reason.js';
import type { HealthMemory } from './health.js';
import { RAMP, type RampMemory } from './ramp.js';
import type { ZoneMemory } from './zone-health.js';

/** What a launcher has learned of a provider, for the launchers after it. Times are in ms since the epoch. */
export interface SteeringMemory {
  /** `undefined` while launches work. */
  readonly launches: HealthMemory | undefined;
  /** `undefined` while other calls work. */
  readonly calls: HealthMemory | undefined;
  /** Labels without capacity. */
  readonly labels: readonly (HealthMemory & { readonly label: string })[];
  /** Zones without capacity. */
  readonly zones: readonly ZoneMemory[];
  readonly ramp: RampMemory;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The body to store.
 * @param nowMs - by the clock that the times are of
 * @param agreedMs - the same by the time that all launchers agree about
 */
export function encodeMemory(memory: SteeringMemory, nowMs: number, agreedMs: number): Buffer {
  return Buffer.from(JSON.stringify({ nowMs, agreedMs, ...memory }));
}

/** When a body was stored, by the time that all launchers agree about; `undefined`: by an earlier release. @throws {SyntaxError} */
export function agreedMsOf(body: Buffer): number | undefined {
  return optional(objectOf(JSON.parse(body.toString()))['agreedMs'], numberOf);
}

/**
 * Reads what another launcher stored. Clocks differ, so its times count from when it was written.
 * @param writtenMs - when that was, by the clock of this launcher
 * @throws {SyntaxError} no JSON
 * @throws {TypeError} another shape
 */
export function decodeMemory(body: Buffer, writtenMs: number): SteeringMemory {
  const all = objectOf(JSON.parse(body.toString()));
  const shiftMs = writtenMs - numberOf(all['nowMs']);
  const health = (value: unknown) => healthOf(objectOf(value), shiftMs);
  const labelled = (value: unknown) => ({ label: textOf(objectOf(value)['label']), ...health(value) });
  return {
    launches: optional(all['launches'], health),
    calls: optional(all['calls'], health),
    labels: listOf(all['labels']).map(labelled),
    zones: listOf(all['zones']).map((value) => ({ zone: textOf(objectOf(value)['zone']), ...labelled(value) })),
    ramp: rampOf(objectOf(all['ramp']), shiftMs),
  };
}

function healthOf(fields: Fields, shiftMs: number): HealthMemory {
  const time = (value: unknown) => optional(value, (ms) => numberOf(ms) + shiftMs);
  return {
    failures: numberOf(fields['failures']),
    error: optional(fields['error'], textOf),
    reason: optional(fields['reason'], reasonOf),
    failedMs: time(fields['failedMs']),
    sinceMs: time(fields['sinceMs']),
    nextProbeMs: time(fields['nextProbeMs']),
    pauses: numberOf(fields['pauses']),
  };
}

function rampOf(fields: Fields, shiftMs: number): RampMemory {
  const usual = Object.entries(objectOf(fields['usualMs'])).map(([label, ms]) => [label, numberOf(ms)] as const);
  return {
    limit: Math.max(RAMP.least, numberOf(fields['limit'])),
    why: optional(fields['why'], textOf),
    loweredMs: optional(fields['loweredMs'], (ms) => numberOf(ms) + shiftMs),
    usualMs: Object.fromEntries(usual),
  };
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : read(value);
}

function objectOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('not an object');
  return value as Fields;
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('not a list');
  return value;
}

function numberOf(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('not a text');
  return value;
}

/** A later release may know more reasons. */
function reasonOf(value: unknown): ErrorReason {
  const reason = textOf(value);
  return Object.hasOwn(ERROR_REASONS, reason) ? (reason as ErrorReason) : 'Error';
}
