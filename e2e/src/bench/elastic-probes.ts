import type { Finding } from './finding.js';
import { measureGce } from './gce-launches.js';
import { measureWeb } from './web.js';
import { measureExplain } from './explain-waiting.js';
import { measureKilledLauncher } from './killed-launcher.js';
import { measureManyInstances } from './many-instances.js';
import { measureMinReady } from './min-ready.js';
import { measureMirror } from './mirror.js';
import { measureLaunchWrites } from './launch-writes.js';
import { measureLaunchesInProgress } from './launches-in-progress.js';
import { measureLostInstance } from './lost-instance.js';
import { measurePacking } from './packing.js';
import { measureSeveralLaunchers } from './several-launchers.js';

/** A measurement with a few figures as its result. */
export interface Probe {
  name: string;
  run(options: { long: boolean; beside?: string | undefined }): Promise<Finding[]>;
}

/** Measurements of elastic pools other than loads. */
export const ELASTIC_PROBES: readonly Probe[] = [
  { name: 'lost instance', run: () => measureLostInstance(50) },
  { name: 'min-ready 1000', run: () => measureMinReady(1000) },
  { name: '10000 instances', run: ({ long }) => measureManyInstances(10_000, 100, long ? 600 : 30) },
  { name: 'gce', run: () => measureGce([10, 100, 300]) },
  { name: 'packing', run: () => measurePacking(400, 20) },
  { name: 'mirror', run: ({ long }) => measureMirror(long ? 60 : 20) },
  { name: 'launchers', run: () => measureSeveralLaunchers() },
  { name: 'launcher killed', run: () => measureKilledLauncher() },
  { name: 'launch writes', run: ({ beside }) => measureLaunchWrites(beside) },
  { name: 'launches in progress', run: () => measureLaunchesInProgress() },
  { name: 'explain, 5000 waiting', run: () => measureExplain(5000) },
  { name: 'web', run: () => measureWeb() },
];
