import { describe, it } from 'vitest';
import {
  testDriverContract,
  VirtualClock,
  type CloudFailureKind,
  type CloudResource,
  type MachineEnd,
} from '@nodepool/core/testing';
import { createIncusDriver } from '../src/index.js';
import { FakeIncus } from './fake/fake-incus.js';
import { InProcessTransport } from './fake/in-process.js';

let current: FakeIncus;
const driver = createIncusDriver({ connect: () => new InProcessTransport(() => current) });

const label = { name: 'small', 'cloud-image': 'debian', cpu: 1, memory: 512 };
const pool = {
  name: 'main',
  'host-key-checking': false,
  labels: [label, { name: 'large', 'cloud-image': 'debian', cpu: 2, memory: 1_024 }],
};
const entry = {
  name: 'lab',
  driver: 'incus',
  address: 'unix:/fake/unix.socket',
  'launch-timeout': 600,
  'cloud-images': [{ name: 'debian', username: 'zuul' }],
  pools: [pool],
};
const withLabel = (own: object) => ({ ...entry, pools: [{ ...pool, labels: [own] }] });

/** Stops or deletes an instance, as another program does. */
function endMachine({ state }: FakeIncus, name: string, how: MachineEnd): boolean {
  const found = state.instances.get(name);
  if (found && how === 'stopped') found.shown.status = 'Stopped';
  return found !== undefined && (how === 'stopped' || state.instances.delete(name));
}

function contract(product: 'lxd' | 'incus'): void {
  testDriverContract({
    driver,
    cloud() {
      // uploads read files, which takes turns of the event loop
      const clock = new VirtualClock({ idle: () => Promise.resolve(false) });
      const daemon = (current = new FakeIncus(clock, { product }));
      daemon.state.projectConfig['limits.instances'] = '20';
      return {
        clock,
        advance: (ms: number) => clock.advance(ms),
        list: (): CloudResource[] => [
          ...Array.from(daemon.state.instances.values(), ({ shown, busy, addressMs }) => ({
            id: shown.name,
            isReady: shown.status === 'Running' && !busy && addressMs !== undefined && addressMs <= clock.now(),
          })),
          ...Array.from(daemon.state.images.keys(), (id) => ({ id, type: 'image', isReady: true })),
        ],
        failNext(kind: CloudFailureKind) {
          if (kind === 'unavailable') daemon.state.unavailable++;
          else if (kind !== 'late-listing') daemon.state.fates.push(kind);
        },
        // the name is chosen, and stored, before anything is made
        impossible: ['late-listing' as const],
        ...{ limits: { instances: 20 }, endMachine: endMachine.bind(undefined, daemon) },
      };
    },
    validConfig: entry,
    invalidConfigs: {
      'a label without an image': withLabel({ name: 'small' }),
      'a label with two images': withLabel({ ...label, diskimage: 'debian' }),
      'a label of an unknown type': withLabel({ ...label, type: 'jail' }),
      'an address that is none': { ...entry, address: 'server1' },
      'an https address without a certificate': { ...entry, address: 'https://server1:8443' },
      'an unknown key': { ...entry, 'image-alias': 'debian' },
    },
    packageFile: new URL('../package.json', import.meta.url),
    test: { describe, it },
  });
}

describe('with LXD', () => contract('lxd'));
describe('with Incus', () => contract('incus'));
