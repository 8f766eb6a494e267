// What measures durations uses steady time: the system time may be set. `clock.now()` is for what is written down, shown or logged, and for
// the age of what others wrote down. Each use in core and in drivers is counted here, by file, under its reason.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const PACKAGES = new URL('../packages/', import.meta.url);
/** `driver-fake` is a cloud too, whose records outlive its process. */
const DRIVERS = ['gce', 'incus', 'kubernetes', 'metastatic', 'openstack', 'static'].map((name) => `driver-${name}`);
const INSTEAD =
  'for a duration use steadyNow(clock), for a due time that launchers agree about the clock of the server (ServerClock); ' +
  'if it is the time of a record, a log line or a display, count it here under that reason';

const ALLOWED: Record<string, Record<string, number>> = {
  'log: times of log lines and metrics': {
    'logging/dict-config.ts': 1,
    'logging/json-format.ts': 1,
    'logging/log-file.ts': 2,
    'logging/text-format.ts': 3,
    'metrics/builder-metrics.ts': 1,
    'metrics/metrics.ts': 1,
    'metrics/node-seconds.ts': 2,
  },
  'shown: when something was found or is tried again, for conditions and lists': {
    'cloud/operations/unreadable-entries.ts': 1,
    'cloud/ownership/adopt.ts': 1,
    'cloud/ownership/aliens.ts': 1,
    'cloud/ownership/leak-finder.ts': 1,
    'cloud/state-machine/launch-attempts.ts': 1,
    'cloud/state-machine/unusable-labels.ts': 1,
    'cloud/task-manager/call-pauses.ts': 1,
    'cloud/task-manager/open-calls.ts': 1,
    'launcher/find-conditions.ts': 1,
    'launcher/launcher.ts': 1,
    'launcher/nodes/reaper.ts': 2,
    'launcher/observe/observer.ts': 1,
    'driver-gce/http.ts': 1,
    'driver-gce/own-resources.ts': 1,
    'driver-incus/client.ts': 1,
    'driver-kubernetes/http.ts': 1,
    'driver-kubernetes/rights.ts': 1,
    'driver-kubernetes/troubles.ts': 1,
    'driver-kubernetes/watcher.ts': 1,
    'driver-metastatic/backing-request-outcomes.ts': 1,
    'driver-static/host-monitor.ts': 4,
    'launcher/registry/gone-launchers.ts': 1,
    'launcher/registry/missing-builder.ts': 1,
    'launcher/state/ensure-roots.ts': 1,
  },
  'record: times of records': {
    'features/leases/lease-writes.ts': 8,
    'features/leases/requested-leases.ts': 1,
    'launcher/requests/own-requests.ts': 2,
    'features/stopped-spares/index.ts': 4, // two of them by steady time
    'launcher/nodes/take-back.ts': 4,
    'launcher/requests/fulfil.ts': 3,
    'launcher/requests/launches.ts': 2,
    'launcher/requests/locks.ts': 1,
    'launcher/requests/lost-requests.ts': 1,
    'launcher/requests/refuse.ts': 1,
    'launcher/requests/release.ts': 1,
    'launcher/requests/stages.ts': 2,
    'features/image-trials/index.ts': 1,
    'launcher/state/expire-node.ts': 1,
    'launcher/state/renew-login.ts': 1,
    'launcher/state/store-node.ts': 1,
    'driver-metastatic/claim-writer.ts': 2,
    'driver-metastatic/backing-requests.ts': 1,
    'driver-metastatic/take-over.ts': 2,
    'driver-static/slot-reconciler.ts': 2,
    'driver-static/slot-writer.ts': 2,
  },
  'age: the other end is a time that a cloud, another process or a user wrote, or will read': {
    'cloud/ownership/left-image.ts': 1,
    'cloud/state-machine/launch-work.ts': 2,
    'cloud/state-machine/machine-watch.ts': 2,
    'cloud/task-manager/retry-after.ts': 1,
    'launcher/state/controls.ts': 1,
    'launcher/view/pool-view.ts': 2,
    'driver-gce/credentials.ts': 1,
    'driver-kubernetes/credentials.ts': 1,
    'driver-kubernetes/grants.ts': 1,
    'driver-kubernetes/keep-tokens.ts': 1,
    'driver-kubernetes/login-ends.ts': 1,
    'driver-metastatic/backing-node-returns.ts': 4,
    'driver-metastatic/backing-node.ts': 1,
    'driver-openstack/client/session.ts': 1,
    'driver-openstack/client/token-source.ts': 4,
  },
  'steady: the clock is that of the server, or counts by steady time': {
    'async/counted-clock.ts': 1,
    'features/steering/pace.ts': 3,
    'features/steering/provider-steering.ts': 2,
    'features/steering/steering-set.ts': 1,
    'features/leases/lease-keeper.ts': 3,
    'features/leases/leases.ts': 2,
    'features/age-limits/index.ts': 2,
    'features/hold-orders/index.ts': 2,
    'launcher/providers/provider-context.ts': 1,
    'launcher/state/server-clock.ts': 2,
  },
};

const allowed = Object.assign({}, ...Object.values(ALLOWED)) as Record<string, number>;
/** Source files of a package with the number of their uses; those of drivers begin with the name of their package. */
function usesOf(name: string): [string, number][] {
  const sources = new URL(`${name}/src/`, PACKAGES);
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /(?<!\.test)\.ts$/.test(file) && !file.startsWith('testing/'))
    .map((file): [string, number] => [
      name === 'core' ? file : `${name}/${file}`,
      readFileSync(new URL(file, sources), 'utf8').match(/clock(\(\))?\.now\(\)/gi)?.length ?? 0,
    ])
    .filter(([, uses]) => uses !== 0);
}

const used = Object.fromEntries(['core', ...DRIVERS].flatMap(usesOf)) as Record<string, number>;

it('core and drivers read the system time only for records, logs and displays', () => {
  const more = Object.keys(used).filter((file) => (used[file] ?? 0) > (allowed[file] ?? 0));
  expect(more, `${more.join(', ')}: clock.now() is used once more: ${INSTEAD}`).toEqual([]);
});

it('no use is counted here without need', () => {
  const fewer = Object.keys(allowed).filter((file) => (used[file] ?? 0) < (allowed[file] ?? 0));
  expect(fewer, `${fewer.join(', ')}: clock.now() is used less often than counted here`).toEqual([]);
});
