import { imageWorkToText } from '@nodepool/core/service';
import { expect, it } from 'vitest';
import { toImageWork, type Progress } from './progress.js';

const MEBIBYTE = 1_048_576;
const BEGUN: Progress = {
  ...{ image: 'debian', buildId: 'b1', provider: 'sky', uploadId: '1', startedMs: 0, phase: 'uploading' },
  sentAtMs: 10_000,
};
/** Half of it was sent in 10 s. */
const HALF: Progress = {
  ...BEGUN,
  ...{ sentBytes: 50 * MEBIBYTE, totalBytes: 100 * MEBIBYTE, bytesPerSecond: 5 * MEBIBYTE, secondsLeft: 10 },
};

it('shows the rate of an upload as it was when the cloud took the last data', () => {
  const work = toImageWork(HALF, 'nb01', 12_000);

  expect(work).toMatchObject({ phase: 'uploading', sent: { bytesPerSecond: 5 * MEBIBYTE, secondsLeft: 10 } });
});

it('shows that a cloud takes no more data, and a rate that sinks', () => {
  const work = toImageWork(HALF, 'nb01', 60_000);

  expect(work.phase).toBe('uploading, no data taken for 00:00:00:50');
  expect(work.sent?.bytesPerSecond).toBe(Math.round((50 * MEBIBYTE) / 60));
  expect(imageWorkToText(work, 60_000)).toBe(
    'uploading to sky from nb01 for 00:00:01:00, 50 % of 100.0 MiB at 0.8 MiB/s, 61 s left; ' +
      'uploading, no data taken for 00:00:00:50',
  );
});

it('shows that no progress is reported before the first data', () => {
  expect(toImageWork(BEGUN, 'nb01', 20_000)).toMatchObject({ phase: 'uploading', sent: null });
  expect(toImageWork(BEGUN, 'nb01', 60_000).phase).toBe('uploading, no progress reported for 00:00:00:50');
});

it('shows that the cloud does not answer after it took all data, at the rate until then', () => {
  const work = toImageWork({ ...HALF, sentBytes: 100 * MEBIBYTE, secondsLeft: 0 }, 'nb01', 60_000);

  expect(work.phase).toBe('uploading, all data sent, no answer for 00:00:00:50');
  expect(work.sent).toMatchObject({ bytesPerSecond: 5 * MEBIBYTE, secondsLeft: 0 });
});
