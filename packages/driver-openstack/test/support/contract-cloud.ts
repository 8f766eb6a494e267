import {
  VirtualClock,
  type CloudFailureKind,
  type CloudResource,
  type ContractCloud,
  type MachineEnd,
} from '@nodepool/core/testing';
import { FakeOpenStack } from '../fake/fake-openstack.js';

const QUOTA = 'Quota exceeded for instances: Requested 1, but already used 10 of 10 instances';
const UNAVAILABLE = { times: 1, status: 500, body: 'the cloud does not answer' };

/** The fake cloud with failures on order. */
export class ContractFakeOpenStack implements ContractCloud {
  readonly clock: VirtualClock;
  /** Nova lists what it has accepted. */
  readonly impossible = ['late-listing'] as const;
  readonly limits = { instances: 20 };
  readonly pageSize = 4;
  readonly cloud: FakeOpenStack;

  constructor() {
    // uploads read files, which takes turns of the event loop
    this.clock = new VirtualClock({ idle: () => Promise.resolve(false) });
    this.cloud = new FakeOpenStack(this.clock);
    Object.assign(this.cloud.state.knobs, { bootMs: 5_000, deleteMs: 3_000, powerMs: 2_000, pageSize: this.pageSize });
    Object.assign(this.cloud.state.quota, this.limits);
    this.cloud.state.zones = ['north', 'south'];
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  list(): CloudResource[] {
    const { servers, images, floatingIps, volumes } = this.cloud.state;
    return [
      ...Array.from(servers.values(), ({ id, status, taskState }) => ({
        id,
        isReady: status === 'ACTIVE' && taskState === null,
      })),
      ...[...images.values()].flatMap(({ id, visibility }) =>
        visibility === 'private' ? [{ id: id as string, type: 'image', isReady: true }] : [],
      ),
      ...Array.from(floatingIps.values(), ({ id }) => ({ id, type: 'floatingip', isReady: true })),
      ...Array.from(volumes.values(), ({ id }) => ({ id, type: 'volume', isReady: true })),
    ];
  }

  failNext(kind: CloudFailureKind): void {
    const { faults, state } = this.cloud;
    const create = { method: 'POST', path: /^compute\/servers$/, times: 1 };
    if (kind === 'quota') faults.push({ ...create, status: 403, body: QUOTA });
    else if (kind === 'capacity') state.fates.push('No valid host was found. There are not enough hosts available.');
    else if (kind === 'error-state') state.fates.push('Build of instance aborted: the host failed');
    else if (kind === 'never-ready') state.fates.push('stuck');
    else if (kind === 'lost-reply') faults.push({ ...create, after: true, reset: true });
    else faults.push({ ...UNAVAILABLE, path: /^(compute|network|image|volume)/ });
  }

  endMachine(id: string, how: MachineEnd): boolean {
    const server = this.cloud.state.servers.get(id);
    if (server && how === 'stopped') server.status = 'SHUTOFF';
    else this.cloud.state.removeServer(id);
    return true;
  }

  stop(): Promise<void> {
    return this.cloud.close();
  }
}
