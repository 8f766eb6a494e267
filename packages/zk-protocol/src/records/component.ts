import { isMap } from './json-values.js';
import type { Stat } from '../client/contract/types.js';
import { copyWith, keepUnknown, NO_BODY, number, readBody, text, texts, toBuffer } from './fields.js';
import { CERTIFICATE_MODES, type CertificateMode } from './types.js';
import type { ComponentRecord, Json, JsonObject, LauncherId, PoolComponentRecord } from './types.js';

/** Data-model version of this release. */
export const MODEL_API = 0;
/** Priority of a pool without a configured one. */
export const DEFAULT_POOL_PRIORITY = 100;

/**
 * Reads a component; one of kind `pool` comes back as a {@link PoolComponentRecord}.
 * @param kind - directory of the component; used if the body has no `kind`
 * @returns `undefined` for an empty body
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeComponent(
  kind: string,
  id: string,
  body: Buffer,
  stat: Stat | undefined,
): ComponentRecord | PoolComponentRecord | undefined {
  return readBody('component', `${kind}/${id}`, body, (raw) => {
    const common = fromRaw(kind, id, raw, stat);
    return common.kind === 'pool' ? poolFromRaw(common, raw) : common;
  });
}

function fromRaw(kind: string, id: string, raw: JsonObject, stat: Stat | undefined): ComponentRecord {
  return {
    id,
    kind: text(raw.kind, 'kind') ?? kind,
    hostname: text(raw.hostname, 'hostname') ?? '',
    state: text(raw.state, 'state') ?? '',
    version: text(raw.version, 'version'),
    modelApi: number(raw.model_api, 'model_api') ?? 0,
    webUrl: text(raw.web_url, 'web_url'),
    conditions: Array.isArray(raw.conditions) ? raw.conditions.filter(isMap) : undefined,
    raw,
    stat,
  };
}

function poolFromRaw(common: ComponentRecord, raw: JsonObject): PoolComponentRecord {
  return {
    ...common,
    kind: 'pool',
    launcherId: (text(raw.id, 'id') ?? common.id) as LauncherId,
    name: text(raw.name, 'name') ?? '',
    providerName: text(raw.provider_name, 'provider_name') ?? 'unknown',
    supportedLabels: texts(raw.supported_labels, 'supported_labels'),
    priority: number(raw.priority, 'priority') ?? DEFAULT_POOL_PRIORITY,
    paused: Boolean(raw.paused),
    legacy: false,
    health: text(raw.health, 'health'),
    firstPoolPauseMs: number(raw.first_pool_pause_ms, 'first_pool_pause_ms'),
    notLent: text(raw.not_lent, 'not_lent'),
  };
}

/** True for a pool, legacy registrations included. */
export function isPoolComponent(component: ComponentRecord): component is PoolComponentRecord {
  return component.kind === 'pool' && 'launcherId' in component;
}

/** The key in `raw` of a pool whose launcher counts parked nodes as free: its labels that are to have some, a list. */
export const PARKED_KEY = 'stopped_spares';
/** The key in `raw` of a pool for whose certificates of leases its machines trust, see {@link certificateMode}; missing: none. */
export const CERTIFICATES_KEY = 'lease_certificates';

/** A mode that is stored or configured; `undefined`: none. One of a newer release is not known, and so not used. */
export function certificateMode(value: Json | undefined): CertificateMode | undefined {
  return CERTIFICATE_MODES.find((mode) => mode === value);
}

const KNOWN_KEYS: ReadonlySet<string> = new Set([
  ...['conditions', 'hostname', 'kind', 'model_api', 'state', 'version', 'web_url'],
]);
const KNOWN_POOL_KEYS: ReadonlySet<string> = new Set([
  ...KNOWN_KEYS,
  ...['first_pool_pause_ms', 'health', 'id', 'name', 'not_lent', 'paused', 'priority'],
  'provider_name',
  'supported_labels',
]);

/** The body to store, keys sorted. Legacy registrations are written by {@link encodeLegacyLauncher}. */
export function encodeComponent(component: ComponentRecord | PoolComponentRecord): Buffer {
  const body: JsonObject = {
    hostname: component.hostname,
    kind: component.kind,
    model_api: component.modelApi,
    state: component.state,
    version: component.version,
    ...(component.webUrl && { web_url: component.webUrl }),
    ...(component.conditions?.length && { conditions: [...component.conditions] }),
  };
  if (!isPoolComponent(component)) return sorted(body, component.raw, KNOWN_KEYS);
  body.id = component.launcherId;
  body.name = component.name;
  body.paused = component.paused;
  body.priority = component.priority;
  body.provider_name = component.providerName;
  body.supported_labels = component.supportedLabels as string[];
  if (component.health) body.health = component.health;
  if (component.notLent) body.not_lent = component.notLent;
  const { firstPoolPauseMs } = component;
  if (typeof firstPoolPauseMs === 'number') body.first_pool_pause_ms = firstPoolPauseMs;
  return sorted(body, component.raw, KNOWN_POOL_KEYS);
}

function sorted(body: JsonObject, raw: Readonly<JsonObject>, known: ReadonlySet<string>): Buffer {
  keepUnknown(body, raw, known);
  return toBuffer(Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))), raw);
}

/** A component that is not registered yet. Its id is `''` until ZooKeeper assigns one. */
export function newComponent(
  fields: Pick<ComponentRecord, 'kind' | 'hostname' | 'state' | 'version'> & { modelApi?: number },
): ComponentRecord {
  return { id: '', modelApi: MODEL_API, ...fields, raw: NO_BODY, stat: undefined };
}

/** A pool that is not registered yet. Keys of `raw` that are no fields of the record are stored as they are. */
export function newPoolComponent(
  fields: Pick<PoolComponentRecord, 'hostname' | 'version' | 'launcherId' | 'name' | 'providerName'> &
    Partial<
      Pick<
        PoolComponentRecord,
        | 'state'
        | 'supportedLabels'
        | 'priority'
        | 'paused'
        | 'modelApi'
        | 'health'
        | 'firstPoolPauseMs'
        | 'notLent'
        | 'raw'
      >
    >,
): PoolComponentRecord {
  return {
    id: '',
    kind: 'pool',
    state: 'running',
    modelApi: MODEL_API,
    supportedLabels: [],
    priority: DEFAULT_POOL_PRIORITY,
    paused: false,
    legacy: false,
    raw: NO_BODY,
    ...fields,
    stat: undefined,
  };
}

/** A copy of the component with some fields changed. */
export function withComponent<T extends ComponentRecord>(component: T, changes: Partial<Omit<T, 'stat'>>): T {
  return copyWith(component, changes as Partial<T>);
}

/**
 * Reads a registration below `/nodepool/launchers` as a running pool of default priority.
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeLegacyLauncher(
  id: string,
  body: Buffer,
  stat: Stat | undefined,
): PoolComponentRecord | undefined {
  return readBody('legacy launcher', id, body, (raw) => {
    const launcherId = (text(raw.id, 'id') ?? id) as LauncherId;
    return {
      id,
      kind: 'pool' as const,
      hostname: launcherId.split('-PoolWorker.')[0] ?? '',
      state: 'running',
      version: null,
      modelApi: 0,
      launcherId,
      name: '',
      providerName: text(raw.provider_name, 'provider_name') ?? 'unknown',
      supportedLabels: texts(raw.supported_labels, 'supported_labels'),
      priority: DEFAULT_POOL_PRIORITY,
      paused: false,
      legacy: true,
      raw,
      stat,
    };
  });
}

const LEGACY_KEYS: ReadonlySet<string> = new Set(['id', 'provider_name', 'supported_labels']);

/** The body of a registration for old versions of Zuul and of the launcher. */
export function encodeLegacyLauncher(pool: PoolComponentRecord): Buffer {
  const body: { [key: string]: Json } = {
    id: pool.launcherId,
    provider_name: pool.providerName,
    supported_labels: [...pool.supportedLabels].sort(),
  };
  // Keep unknown keys of a legacy body only, not those of a component.
  return sorted(body, pool.legacy ? pool.raw : NO_BODY, LEGACY_KEYS);
}

/** Result of comparing the data-model version of a starting process with those of the running ones. */
export interface ModelApiVerdict {
  /** The highest version that all processes understand. */
  readonly system: number;
  /** `refuse`: all other processes are newer, so writes could damage data. `compatibility`: an older process is running. */
  readonly start: 'ok' | 'compatibility' | 'refuse';
}

/** Compares a data-model version with those of the registered components. */
export function judgeModelApi(own: number, others: readonly number[]): ModelApiVerdict {
  const lowest = Math.min(...others, Infinity);
  const start = lowest < own ? 'compatibility' : others.length > 0 && lowest > own ? 'refuse' : 'ok';
  return { system: Math.min(own, lowest), start };
}
