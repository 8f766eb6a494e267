// What measures durations uses steady time: the system time may be set. `clock.now()` is for what is written down, shown or logged, and for
// the age of what others wrote down. A file of core that needs it is named here, with the reason.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const SOURCES = new URL('../packages/core/src/', import.meta.url);

/** Folders and files, by reason. A new name needs one of these reasons; for a duration, use `steadyNow(clock)`. */
const ALLOWED = {
  'times of log lines and metrics': ['logging/', 'metrics/'],
  'when something was found, for conditions and lists': [
    ...['cloud/ownership/adopt.ts', 'cloud/ownership/aliens.ts', 'cloud/ownership/leak-finder.ts'],
    ...['cloud/operations/unreadable-entries.ts', 'cloud/state-machine/unusable-labels.ts'],
    ...['cloud/task-manager/call-pauses.ts', 'launcher/find-conditions.ts'],
    ...['launcher/launcher.ts', 'launcher/observe/observer.ts', 'launcher/nodes/start-gain.ts'],
  ],
  'the other end is a time that a cloud, another process or a user wrote': [
    ...['cloud/task-manager/retry-after.ts', 'cloud/state-machine/launch-work.ts', 'cloud/state-machine/launch.ts'],
    ...['cloud/ownership/left-image.ts', 'launcher/state/controls.ts'],
  ],
  'times of records, and their age': [
    ...['launcher/leases/', 'launcher/nodes/', 'launcher/pools/', 'launcher/requests/', 'launcher/state/'],
    ...['launcher/view/pool-view.ts', 'cloud/state-machine/machine-watch.ts'],
  ],
  'a clock that counts by steady time': ['async/counted-clock.ts', 'launcher/health/'],
};

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /(?<!\.test)\.ts$/.test(file) && !file.startsWith('testing/'))
  .filter((file) => /clock(\(\))?\.now\(\)/i.test(readFileSync(new URL(file, SOURCES), 'utf8')));
const allowed = Object.values(ALLOWED).flat();

it('no further file of core reads the system time: durations are measured by steadyNow(clock)', () => {
  expect(files.filter((file) => !allowed.some((place) => file.startsWith(place)))).toEqual([]);
});

it('no file is named here without need', () => {
  expect(allowed.filter((place) => !files.some((file) => file.startsWith(place)))).toEqual([]);
});
