import { controlPath, encodeControl, newControl, type ControlSubject } from '@nodepool/zk-protocol';
import type { Config } from '../../src/index.js';
import type { Launcher } from '../../src/launcher/index.js';
import { pooledConfig, type RackWorld } from './rack-world.js';

/** Provider `rack` with label `a`, of which standby nodes may be kept. */
export function labelled(minReady = 0, base: Config = pooledConfig): Config {
  return { ...base, labels: new Map([['a', { name: 'a', minReady, maxReadyAgeMs: 0 }]]) };
}

/** What is wrong, without the sentences. */
export function told(launcher: Launcher): string[] {
  return launcher.conditions.find().map(({ kind, name, type, reason }) => `${kind} ${name} ${type} ${reason}`);
}

/** Takes something out of service. @returns the path of the order */
export async function order(world: RackWorld, subject: ControlSubject, owner = 'alice@ops'): Promise<string> {
  const control = newControl({ ...subject, mode: 'pause', owner, reason: 'maintenance' }, world.clock.now());
  const path = controlPath(subject);
  await world.clock.run(world.zk.ensurePath(path.slice(0, path.lastIndexOf('/'))));
  await world.clock.run(world.zk.create(path, encodeControl(control)));
  await world.settle();
  return path;
}
