import type { Stat } from '../client/contract/types.js';
import { keepUnknown, NO_BODY, number, readBody, seconds, secondsOrNull, text, timeMs, toBuffer } from './fields.js';
import { CONTROLS_ROOT } from './paths.js';
import type { Json, JsonObject } from './types.js';

/** Kinds of objects that operators can control. */
export const CONTROL_KINDS = ['provider', 'pool', 'label', 'image', 'node'] as const;
/** One of {@link CONTROL_KINDS}. */
export type ControlKind = (typeof CONTROL_KINDS)[number];

/**
 * - `pause` accepts no requests and launches nothing; existing nodes stay in use
 * - `drain` is `pause`, and deletes unused ready nodes
 * - `limit` caps the number of nodes
 * - `hold` is for nodes only: holds the node after its use, until the control ends
 */
export const CONTROL_MODES = ['pause', 'drain', 'limit', 'hold'] as const;
/** One of {@link CONTROL_MODES}. */
export type ControlMode = (typeof CONTROL_MODES)[number];

/** The object of a control. */
export interface ControlSubject {
  readonly kind: ControlKind;
  /** Name in the configuration; `<provider>/<pool>` for a pool, the id for a node. */
  readonly name: string;
}

/** An operator's setting for a provider, pool, label, image or node; in force in all launchers until it ends or is removed. */
export interface ControlRecord extends ControlSubject {
  /** `pause` if the stored mode is unknown to this release, as the safe choice. */
  readonly mode: ControlMode;
  /** Maximum number of nodes; `null` unless the mode is `limit`. */
  readonly limit: number | null;
  /** Operator who set it, e.g. `alice@host`. */
  readonly owner: string;
  readonly reason: string;
  readonly createdTimeMs: number;
  /** Time when it expires; `null` if it lasts until it is removed. */
  readonly endTimeMs: number | null;
  readonly raw: Readonly<JsonObject>;
  readonly stat: Stat | undefined;
}

/** A writer whose clock differs from the server's by more has a wrong one, ms. */
export const WRONG_CLOCK_MS = 60_000;

const isKind = (kind: string): kind is ControlKind => (CONTROL_KINDS as readonly string[]).includes(kind);
const isMode = (mode: string | null): mode is ControlMode =>
  (CONTROL_MODES as readonly (string | null)[]).includes(mode);

/** Id of a control, and its path below the root: `<kind>/<name>`, with the name URL-encoded. */
export function controlId({ kind, name }: ControlSubject): string {
  return `${kind}/${encodeURIComponent(name)}`;
}

/** Path of a control's record. */
export const controlPath = (subject: ControlSubject): string => `${CONTROLS_ROOT}/${controlId(subject)}`;

/**
 * Reads a control. If its times are those of a wrong clock, they are shifted by what its writer was ahead of the server.
 * @param id - as made by {@link controlId}
 * @returns `undefined` for an empty body or an unknown kind
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeControl(id: string, body: Buffer, stat: Stat | undefined): ControlRecord | undefined {
  const slash = id.indexOf('/');
  const kind = id.slice(0, slash);
  if (!isKind(kind)) return undefined;
  return readBody('control', id, body, (raw) => {
    const mode = text(raw.mode, 'mode');
    return {
      kind,
      name: decodeName(id.slice(slash + 1)),
      mode: isMode(mode) ? mode : 'pause',
      limit: number(raw.limit, 'limit'),
      owner: text(raw.owner, 'owner') ?? '',
      reason: text(raw.reason, 'reason') ?? '',
      ...timesOf(raw, stat),
      raw,
      stat,
    };
  });
}

function timesOf(raw: Readonly<JsonObject>, stat: Stat | undefined) {
  const createdTimeMs = timeMs(raw.created_time, 'created_time') ?? stat?.mtime ?? 0;
  const endTimeMs = timeMs(raw.end_time, 'end_time');
  const aheadMs = createdTimeMs - (stat?.mtime ?? createdTimeMs);
  if (Math.abs(aheadMs) <= WRONG_CLOCK_MS) return { createdTimeMs, endTimeMs };
  return { createdTimeMs: createdTimeMs - aheadMs, endTimeMs: endTimeMs === null ? null : endTimeMs - aheadMs };
}

/** Tolerates names that were created by hand and are not encoded. */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a lone percent sign
  }
}

const KNOWN_KEYS: ReadonlySet<string> = new Set('mode limit owner reason created_time end_time'.split(' '));

/** The body to store. */
export function encodeControl(control: ControlRecord): Buffer {
  const { raw } = control;
  const body: { [key: string]: Json } = {
    mode: control.mode,
    limit: control.limit,
    owner: control.owner,
    reason: control.reason,
    created_time: seconds(control.createdTimeMs, raw.created_time),
    end_time: secondsOrNull(control.endTimeMs, raw.end_time),
  };
  keepUnknown(body, raw, KNOWN_KEYS);
  return toBuffer(body, raw);
}

/** A control that is not stored yet. */
export function newControl(
  fields: ControlSubject &
    Pick<ControlRecord, 'mode' | 'owner'> &
    Partial<Pick<ControlRecord, 'limit' | 'reason' | 'endTimeMs'>>,
  nowMs: number,
): ControlRecord {
  return { limit: null, reason: '', endTimeMs: null, ...fields, createdTimeMs: nowMs, raw: NO_BODY, stat: undefined };
}

/** Describes a control, e.g. `paused by alice@host until 2026-11-22T08:00:00.000Z: reason`. */
export function describeControl({ mode, limit, owner, reason, endTimeMs }: ControlRecord): string {
  const effect = {
    pause: 'paused',
    drain: 'drained',
    limit: `limited to ${limit ?? 0}`,
    hold: 'to be held after its use',
  }[mode];
  const end = endTimeMs === null ? '' : ` until ${new Date(endTimeMs).toISOString()}`;
  return `${effect} by ${owner}${end}${reason === '' ? '' : `: ${reason}`}`;
}

/** Whether a control has not expired. */
export function isInForce({ endTimeMs }: Pick<ControlRecord, 'endTimeMs'>, nowMs: number): boolean {
  return endTimeMs === null || nowMs < endTimeMs;
}
