import type { ImageEntry } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../contract/condition.js';
import type { DiskimageConfig } from '../contract/config.js';
import { shellWord } from '../text/shell-word.js';
import { failedTests, wasWithdrawnIn } from './failed-tests.js';
import { readyBuilds } from './newest-builds.js';
import { failureNote, withdrawnNote } from './notes.js';

/** Conditions of images. */
export const CONDITIONS = {
  NoReadyBuild: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'an image has no ready build',
    reasons: { NeverBuilt: 'no build has completed', BuildFailed: 'the newest build failed' },
    nextStep: 'nodepool image-log IMAGE, nodepool image-build IMAGE --follow',
  },
  OldBuild: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest ready build is older than twice the rebuild-age',
    reasons: { NotRebuilt: 'no build has completed since', BuildFailed: 'the newest build failed' },
    nextStep: 'nodepool image-log IMAGE, nodepool image-build IMAGE --follow',
  },
  BuildFailed: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build failed; an earlier build that is not old stays in service',
    reasons: { Error: 'the message has the error and the script that ran' },
    nextStep: 'nodepool image-log IMAGE',
  },
  TestFailed: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build failed its test (`validate`) in a provider; the name is `IMAGE/PROVIDER`',
    reasons: { ImageFault: 'the message has the result of the test' },
    nextStep:
      'nodepool image-build IMAGE after correcting the cause; nodepool image-promote IMAGE tests this build again',
  },
  BuildWithdrawn: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build was withdrawn, everywhere or in the providers that the message names',
    reasons: { LaunchesFailed: 'all its launches failed, and those of the previous build did not' },
    nextStep: 'nodepool image-log IMAGE; then nodepool image-unpause IMAGE, or image-build if it is not paused',
  },
} as const satisfies ConditionTypes;

/** The parts of an image's configuration that its conditions depend on. */
export type JudgedImage = Pick<DiskimageConfig, 'name' | 'abstract' | 'pause' | 'rebuildAgeMs'>;

/** Conditions of images: no ready build, a build that is too old, a failed newest build, a withdrawn build. */
export function imageConditions(
  configured: Iterable<JudgedImage>,
  images: ReadonlyMap<string, ImageEntry>,
  nowMs: number,
): FoundCondition[] {
  const judged = [...configured].filter(({ abstract, pause }) => !abstract && !pause);
  const built = judged.flatMap((image) => builtCondition(image, images.get(image.name), nowMs) ?? []);
  const tested = [...images.values()].flatMap((entry) => testConditions(entry));
  return [...built, ...tested, ...[...images.values()].flatMap((entry) => withdrawnCondition(entry) ?? [])];
}

/** Providers in which the newest build failed its test. */
function testConditions(entry: ImageEntry): FoundCondition[] {
  const { name: image } = entry;
  const [newest] = readyBuilds(entry);
  if (!newest) return [];
  const tested = [...failedTests(newest)].filter(([provider]) => !wasWithdrawnIn(newest, provider));
  return tested.map(([provider, reason]) =>
    newCondition(CONDITIONS, 'TestFailed', {
      ...{ name: `${image}/${provider}`, reason: 'ImageFault', evidence: { image, provider, build: newest.id } },
      message: `build ${newest.id} failed its test and is not uploaded to provider "${provider}": ${reason}`,
      nextStep: `correct the image and run nodepool image-build ${image}, or test this build again: nodepool image-promote ${image}`,
    }),
  );
}

/** Too old: two rebuilds in a row are missing. */
function builtCondition({ name, rebuildAgeMs }: JudgedImage, entry: ImageEntry | undefined, nowMs: number) {
  const [newest] = readyBuilds(entry);
  const failure = entry && failureNote(entry);
  if (newest && nowMs - newest.stateTimeMs <= 2 * rebuildAgeMs) {
    if (failure === undefined) return undefined;
    const message = `${failure}; build ${newest.id} stays in service`;
    return newCondition(CONDITIONS, 'BuildFailed', {
      ...{ name, reason: 'Error', message, nextStep: `nodepool image-log ${name}` },
    });
  }
  const details = {
    name,
    reason: failure !== undefined ? 'BuildFailed' : newest ? 'NotRebuilt' : 'NeverBuilt',
    nextStep: failure === undefined ? `nodepool image-build ${name} --follow` : `nodepool image-log ${name}`,
  };
  const why = failure === undefined ? '' : `: ${failure}`;
  if (!newest) return newCondition(CONDITIONS, 'NoReadyBuild', { ...details, message: `it has no ready build${why}` });
  const since = new Date(newest.stateTimeMs).toISOString();
  const message = `its newest ready build, ${newest.id}, is of ${since}${why}`;
  return newCondition(CONDITIONS, 'OldBuild', { ...details, message, sinceMs: newest.stateTimeMs + 2 * rebuildAgeMs });
}

function withdrawnCondition(entry: ImageEntry): FoundCondition | undefined {
  const message = withdrawnNote(entry);
  if (message === undefined) return undefined;
  const { name, pauseReason } = entry;
  const word = shellWord(name);
  const again = pauseReason === undefined ? 'build' : 'unpause';
  const nextStep = `nodepool image-log ${word}; once it is fixed nodepool image-${again} ${word}`;
  return newCondition(CONDITIONS, 'BuildWithdrawn', { name, reason: 'LaunchesFailed', message, nextStep });
}
