import type { HostStatus } from '@nodepool/core';
import { fetchService, formatAge, withRanks, type Listing } from '@nodepool/core/service';
import type { Clock } from '@nodepool/zk-protocol';
import { defineCommand, texts } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { inform } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { registeredLaunchers } from '../connection/find-launchers.js';
import { whileBusy } from '../connection/while-busy.js';
import { printListing } from '../terminal/output.js';
import { LAUNCHER_URL, launcherUrls } from './shared-options.js';

/** `nodepool hosts`. */
export const command = defineCommand({
  reads: true,
  options: { url: LAUNCHER_URL },
  parse: (values) => ({ urls: launcherUrls(texts(values, 'url')) }),
  run: (context, { urls }) => listHosts(context, urls),
});

/** A host in the answer of `/api/v1/hosts`; times are in seconds since the epoch. */
interface Host extends Pick<HostStatus, 'pool' | 'host' | 'port' | 'username' | 'labels' | 'slots' | 'health'> {
  readonly provider: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly last_check: number | null;
  readonly down_since: number | null;
  readonly nodes: readonly { readonly node: string; readonly state: string; readonly user: string | null }[];
}

/** Time limit for a launcher that is busy or gone. */
const ANSWER_MS = 3_000;

const since = (seconds: number | null, nowMs: number) => (seconds === null ? null : formatAge(nowMs - seconds * 1_000));

const hostListing: Listing<Host> = withRanks(
  [
    { key: 'provider', header: 'Provider', level: 'brief', value: ({ provider }) => provider },
    { key: 'host', header: 'Host', level: 'brief', value: ({ host }) => host },
    { key: 'port', header: 'Port', level: 'brief', value: ({ port }) => port },
    { key: 'username', header: 'Username', level: 'brief', value: ({ username }) => username },
    { key: 'labels', header: 'Labels', level: 'brief', value: ({ labels }) => [...labels] },
    { key: 'health', header: 'Health', level: 'brief', value: ({ health }) => health },
    { key: 'last_check', header: 'Last Check', level: 'brief', value: (host, nowMs) => since(host.last_check, nowMs) },
    { key: 'nodes', header: 'Nodes', level: 'brief', value: ({ nodes }) => nodes.map(({ node }) => node) },
    { key: 'users', header: 'Used By', level: 'brief', value: ({ nodes }) => nodes.flatMap(({ user }) => user ?? []) },
    { key: 'down', header: 'Down', level: 'brief', value: (host, nowMs) => since(host.down_since, nowMs) },
    { key: 'reason', header: 'Reason', level: 'brief', value: ({ reason }) => reason },
    { key: 'message', header: 'Message', level: 'extra', value: ({ message }) => message },
    { key: 'pool', header: 'Pool', level: 'extra', value: ({ pool }) => pool },
    { key: 'slots', header: 'Slots', level: 'extra', value: ({ slots }) => slots },
  ],
  { spare: ['last_check', 'username', 'port', 'down', 'provider', 'labels', 'users'] },
);

/** `nodepool hosts`: the last checks of launchers. @param urls - of launchers; none: those of the registry */
async function listHosts(context: CliContext, urls: readonly string[]): Promise<void> {
  const asked = urls.length > 0 ? urls : await registeredLaunchers(context);
  const answers = await Promise.all(asked.map((url) => ask(url, context.clock)));
  const failures = answers.flatMap((answer) => ('why' in answer ? `${answer.url}: ${answer.why}` : []));
  printListing(
    context,
    hostListing,
    newestOfEach(answers.flatMap((answer) => ('hosts' in answer ? answer.hosts : []))),
  );
  const isWatching = context.options.watchMs !== undefined;
  if (asked.length === 0)
    inform('nodepool: no launcher is registered: start nodepool-launcher, or name one with --url');
  else if (failures.length === asked.length && !isWatching)
    throw new CliError(`No launcher answered: ${failures.join('; ')}`);
  else for (const failure of failures) inform(`nodepool: ${failure}`);
}

type Answer = { readonly hosts: readonly Host[] } | { readonly url: string; readonly why: string };

async function ask(url: string, clock: Clock): Promise<Answer> {
  const target = new URL('api/v1/hosts', url.endsWith('/') ? url : `${url}/`);
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    const response = await whileBusy(() => fetchService(target, { signal }), { clock, patienceMs: ANSWER_MS, signal });
    if (response.ok) return { hosts: (await response.json()) as Host[] };
    const old = response.status === 404 ? ', so it is an older launcher or another service' : '';
    return { url, why: `answered /api/v1/hosts with status ${response.status}${old}` };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { url, why: describeError(cause) };
  }
}

/** The newest check of each host, as every launcher checks the hosts of a shared provider. Hosts that are down come first. */
function newestOfEach(hosts: readonly Host[]): Host[] {
  const found = new Map<string, Host>();
  for (const host of hosts) {
    const key = JSON.stringify([host.provider, host.host, host.port, host.username]);
    const known = found.get(key);
    if (!known || (known.last_check ?? 0) < (host.last_check ?? 0)) found.set(key, host);
  }
  const rank = ({ health, provider, host }: Host) => `${health === 'down' ? 0 : 1} ${provider} ${host}`;
  return [...found.values()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
