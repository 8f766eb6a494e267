import type { Clock } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';

/** What a launcher or builder says of itself. */
export interface ServiceReport {
  readonly url: string;
  readonly hostname: string;
  /** Its clock less ours, ms; known to a second. */
  readonly skewMs: number;
  /** What is wrong with its configuration, if anything. */
  readonly configError: string | undefined;
  /** Providers that it could not start. */
  readonly brokenProviders: readonly string[];
  /** Providers, and labels in providers, whose launches fail, and the last error. */
  readonly failingLaunches: readonly {
    readonly provider: string;
    readonly what: string;
    readonly error: string;
    /** By the clock of the service; `undefined`: a probe is under way. */
    readonly nextProbeMs: number | undefined;
  }[];
  readonly failingDeletions: readonly { readonly node: string; readonly attempts: number; readonly error: string }[];
  /** Images, as `<image>/<build>/<provider>/<upload>`, that a builder cannot take away. */
  readonly failingRemovals: readonly { readonly name: string; readonly attempts: number; readonly error: string }[];
  /** Uploads of images that have failed and are tried again. */
  readonly failingUploads: readonly {
    readonly image: string;
    readonly provider: string;
    readonly attempts: number;
    readonly error: string;
  }[];
  /** What it sees in clouds that no record knows. */
  readonly leaked: readonly {
    readonly provider: string;
    readonly type: string;
    readonly id: string;
    readonly node: string | null;
    /** When it was seen first. */
    readonly since: string;
    readonly error: string | null;
  }[];
  /** What carries the name of a provider there and is not proven to belong to this database. */
  readonly aliens: readonly {
    readonly provider: string;
    readonly type: string;
    readonly id: string;
    readonly name: string | null;
    /** Id of the database that it carries; `null`: none. */
    readonly database: string | null;
  }[];
  /** What it has deleted in clouds because no record stood for it, since its start. */
  readonly leaks: readonly { readonly provider: string; readonly type: string; readonly count: number }[];
}

/** A service that is registered and does not answer. */
export interface SilentService {
  readonly url: string;
  readonly why: string;
}

const ANSWER_MS = 3_000;

/** Asks all services at once; never rejects. @param urls - of their web servers */
export function askServices(urls: readonly string[], clock: Clock): Promise<(ServiceReport | SilentService)[]> {
  return Promise.all(urls.map((url) => ask(url, clock)));
}

async function ask(url: string, clock: Clock): Promise<ServiceReport | SilentService> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(new URL('/healthz', url), { signal });
    const dateMs = Date.parse(response.headers.get('date') ?? '');
    const skewMs = Number.isNaN(dateMs) ? 0 : dateMs - clock.now();
    const health = (await response.json()) as Health;
    const metrics = await (await fetch(new URL('/metrics', url), { signal })).text();
    return { url, skewMs, leaks: leaksOf(metrics), ...read(health) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { url, why: describeError(cause) };
  }
}

/** The part of `/healthz` that is looked at; other releases may leave any of it out. */
interface Health {
  readonly hostname?: string;
  readonly config?: { readonly error?: string | null };
  readonly provider_errors?: readonly { readonly provider: string }[];
  readonly failing_launches?: readonly (LaunchHealth & {
    readonly provider: string;
    readonly labels?: readonly (LaunchHealth & { readonly label: string })[];
  })[];
  /** Of a launcher with the node, of a builder with the name of the image. */
  readonly failing_deletions?: readonly {
    readonly node?: string;
    readonly name?: string;
    readonly attempts: number;
    readonly error?: string | null;
  }[];
  readonly failing_uploads?: ServiceReport['failingUploads'];
  readonly leaked_resources?: ServiceReport['leaked'];
  readonly alien_resources?: ServiceReport['aliens'];
}

interface LaunchHealth {
  /** `closed`: launches are not held back. */
  readonly state: string;
  readonly error?: string | null;
  readonly next_probe?: string | null;
}

const NO_REASON = 'no reason is known';

function read(health: Health): Omit<ServiceReport, 'url' | 'skewMs' | 'leaks'> {
  return {
    hostname: health.hostname ?? '',
    configError: health.config?.error ?? undefined,
    brokenProviders: (health.provider_errors ?? []).map(({ provider }) => provider),
    failingLaunches: (health.failing_launches ?? []).flatMap(({ provider, labels = [], ...whole }) => {
      const parts = [{ what: `provider "${provider}"`, ...whole }].concat(
        labels.map(({ label, ...own }) => ({ what: `label "${label}" in provider "${provider}"`, ...own })),
      );
      const failing = parts.filter(({ state }) => state !== 'closed');
      return failing.map(({ what, error, next_probe }) => {
        const nextProbeMs = next_probe ? Date.parse(next_probe) : undefined;
        return { provider, what, error: error ?? NO_REASON, nextProbeMs };
      });
    }),
    failingDeletions: (health.failing_deletions ?? []).flatMap(({ node, attempts, error }) =>
      node === undefined ? [] : [{ node, attempts, error: error ?? NO_REASON }],
    ),
    failingRemovals: (health.failing_deletions ?? []).flatMap(({ name, attempts, error }) =>
      name === undefined ? [] : [{ name, attempts, error: error ?? NO_REASON }],
    ),
    failingUploads: health.failing_uploads ?? [],
    leaked: health.leaked_resources ?? [],
    aliens: health.alien_resources ?? [],
  };
}

const LEAKED = /^nodepool_leaked_resources_total\{(.*)\} (\d+)$/gm;

function leaksOf(metrics: string): ServiceReport['leaks'] {
  return [...metrics.matchAll(LEAKED)].map(([, labels = '', count]) => ({
    provider: /provider="([^"]*)"/.exec(labels)?.[1] ?? '',
    type: /type="([^"]*)"/.exec(labels)?.[1] ?? 'resources',
    count: Number(count),
  }));
}
