import { timeToProbe } from '@nodepool/core/service';
import type { ServiceReport } from './ask-services.js';
import { error, warning, type Finding, type Situation } from './finding.js';

/** Clocks that differ by more than this make ages and ends of holds and orders wrong. */
const MOST_SKEW_MS = 5_000;
const MS_PER_SECOND = 1_000;
/** Alien resources in one finding. */
const MOST_NAMED = 10;

/** What registered launchers and builders say of themselves, and those that say nothing. */
export function findServiceTroubles({ services, nowMs }: Pick<Situation, 'services' | 'nowMs'>): Finding[] {
  const troubles = services.flatMap((service) => {
    if ('why' in service) {
      const text = `the service at ${service.url} is registered and does not answer: ${service.why}`;
      return [warning(text, `curl ${service.url}/healthz, and its log`)];
    }
    return [
      ...clockOf(service),
      ...configOf(service),
      ...launchesOf(service, nowMs),
      ...providersOf(service),
      ...imagesOf(service),
      ...leaksOf(service),
    ];
  });
  return [...troubles, ...aliensOf(services.flatMap((service) => ('why' in service ? [] : service.aliens)))];
}

/** Several services may see the same. Resources of another database are in use there, unless that database was lost. */
function aliensOf(aliens: ServiceReport['aliens']): Finding[] {
  const providers = [...new Set(aliens.map(({ provider }) => provider))];
  return providers.flatMap((provider) => {
    const own = aliens.filter((alien) => alien.provider === provider);
    const unmarked = own.filter(({ database }) => database === null);
    const foreign = own.filter(({ database }) => database !== null);
    return [
      ...aliensFinding(unmarked, `and have no record in this database`, provider, `nodepool adopt ${provider}`),
      ...aliensFinding(
        foreign,
        'and the id of another database',
        provider,
        'does this service use the wrong database? Correct zookeeper-servers or --state-dir; "nodepool adopt --force" would delete them',
      ),
    ];
  });
}

function aliensFinding(aliens: ServiceReport['aliens'], what: string, provider: string, remedy: string): Finding[] {
  const names = aliens.map(({ type, id, name }) => `${type} ${id}${name === null ? '' : ` (${name})`}`);
  const found = [...new Set(names)];
  if (found.length === 0) return [];
  const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : '';
  const text = `${found.length} alien resources carry the name of provider "${provider}" ${what}: `;
  return [warning(`${text}${found.slice(0, MOST_NAMED).join(', ')}${more}; they are not deleted`, remedy)];
}

function clockOf({ hostname, skewMs }: ServiceReport): Finding[] {
  if (Math.abs(skewMs) <= MOST_SKEW_MS) return [];
  const seconds = Math.round(Math.abs(skewMs) / MS_PER_SECOND);
  const text = `the clock of ${hostname} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the one of this machine`;
  return [warning(text, 'timedatectl set-ntp true, on the one that is wrong')];
}

function configOf({ hostname, configError }: ServiceReport): Finding[] {
  if (configError === undefined) return [];
  return [error(`${hostname} continues with its former configuration: ${configError}`, 'nodepool config-validate')];
}

/** Nothing has to be done for the requests: a launcher takes none that other providers can serve, and tries by itself. */
function launchesOf({ hostname, skewMs, failingLaunches }: ServiceReport, nowMs: number): Finding[] {
  return failingLaunches.map(({ provider, what, error: last, nextProbeMs }) => {
    const next = timeToProbe(nextProbeMs, nowMs + skewMs);
    return warning(
      `launches of ${what} fail on ${hostname}: ${last}; other providers serve what they can instead, ${next}`,
      `nothing: it serves again when a probe succeeds; nodepool provider pause ${provider} only to keep probes away as well`,
    );
  });
}

function providersOf({ hostname, ...service }: ServiceReport): Finding[] {
  return [
    ...service.brokenProviders.map((name) =>
      error(`provider "${name}" could not be started on ${hostname}`, `the log of ${hostname} says why`),
    ),
    ...service.failingDeletions.map(({ node, attempts, error: last }) =>
      error(`the deletion of node ${node} has failed ${attempts} times: ${last}`, `nodepool delete ${node} --now`),
    ),
  ];
}

/** The images of before are in service meanwhile, and the builder tries again by itself. */
function imagesOf({ hostname, failingUploads, failingRemovals }: ServiceReport): Finding[] {
  return [
    ...failingUploads.map(({ image, provider, attempts, error: last }) =>
      warning(
        `the upload of image ${image} to provider "${provider}" has failed ${attempts} times: ${last}`,
        'nodepool image-status',
      ),
    ),
    ...failingRemovals.map(({ name, attempts, error: last }) =>
      error(`the removal of image ${name} has failed ${attempts} times: ${last}`, `the log of ${hostname} says why`),
    ),
  ];
}

/** Those that are there; and those that are gone already, because it is worth a look that there were any. */
function leaksOf(service: ServiceReport): Finding[] {
  return [...service.leaked.map((each) => leakOf(each, service.hostname)), ...formerLeaksOf(service)];
}

function leakOf({ provider, type, id, node, since, error: last }: ServiceReport['leaked'][number], hostname: string) {
  const owner = node === null ? '' : `, made for node ${node},`;
  const text = `${type} ${id} of provider "${provider}"${owner} is in the cloud and has no record, as ${hostname} sees since ${since}`;
  if (last === null) return warning(text, `nothing: it is deleted when it is seen again, within two minutes`);
  return error(`${text}; its deletion fails: ${last}`, `delete ${type} ${id} with the tools of the cloud`);
}

function formerLeaksOf({ hostname, leaks, url }: ServiceReport): Finding[] {
  return leaks
    .filter(({ count }) => count > 0)
    .map(({ provider, type, count }) =>
      warning(
        `${hostname} has deleted ${count} leaked ${type} of provider "${provider}" since its start`,
        `curl -s ${url}/metrics | grep leaked; the log names each`,
      ),
    );
}
