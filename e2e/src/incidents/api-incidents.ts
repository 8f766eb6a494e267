import { OpenStackHarness, PASSWORD, type OpenStackSetup } from '../openstack/openstack-harness.js';
import type { Incident } from './incident.js';

/** The API of the cloud does not do what it should. */
export const API_INCIDENTS: readonly Incident[] = [
  {
    name: 'the compute API is down',
    named: /ECONNREFUSED|unreachable/i,
    cause: ({ harness }) => harness.cloud.stopService('nova-api'),
  },
  {
    name: 'the compute API hangs',
    named: /CallsUnanswered|not answered/,
    cause: ({ harness }) => harness.cloud.pauseService('nova-api'),
  },
  {
    name: 'POST /servers is answered with 500',
    named: /\b500\b/,
    cause: ({ harness }) =>
      harness.cloud.setFault('http-nova', { method: 'POST', path: '/servers$', status: 500, times: 1_000 }),
  },
  {
    name: 'the login is refused',
    named: /\b401\b|LoginRefused|credentials/,
    cause: ({ harness }) => harness.setPassword('changed'),
    repair: ({ harness }) => harness.setPassword(PASSWORD),
  },
  {
    name: 'deletions are refused',
    named: /DeletionFails|\b409\b/,
    cause: ({ harness }) =>
      harness.cloud.setFault('http-nova', { method: 'DELETE', path: '/servers/', status: 409, times: 1_000 }),
  },
  {
    name: 'servers end in ERROR',
    named: /InstanceFailed|\bERROR\b|No valid host/,
    cause: ({ harness }) => harness.cloud.setFault('spawn-fail', 1_000),
  },
  {
    name: 'an image does not boot',
    named: /InstanceFailed|ssh|boot-timeout/i,
    cause: ({ harness, launchers, setup }) =>
      Promise.all(launchers.map((launcher) => harness.reconfigure(launcher, withoutSsh(setup)))),
    repair: ({ harness, launchers, setup }) =>
      Promise.all(launchers.map((launcher) => harness.reconfigure(launcher, setup))),
    setup: OpenStackHarness.setup({ entry: { 'boot-timeout': 15, 'launch-timeout': 30 } }),
  },
  {
    name: 'one label is dead, another one works',
    named: /\bdead\b.*(?:LaunchesFail|NotServed|fail|No valid host)/,
    labels: ['dead', 'small'],
    setup: OpenStackHarness.setup({
      pool: {
        labels: [
          { name: 'small', 'cloud-image': 'test', 'flavor-name': 'm1.tiny' },
          { name: 'dead', 'cloud-image': 'test', 'flavor-name': 'm1.impossible' },
        ],
      },
    }),
    cause: () => undefined,
  },
];

/** The same with images whose port of SSH nothing answers. */
function withoutSsh(setup: OpenStackSetup): OpenStackSetup {
  const text = JSON.stringify(setup).replaceAll('"connection-port":"ssh"', '"connection-port":9');
  return JSON.parse(text) as OpenStackSetup;
}
