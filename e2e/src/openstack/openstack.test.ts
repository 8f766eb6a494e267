// On real services. One file, as they take half a minute to start and all its tests share them.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { builderCases } from './builder-cases.js';
import { failureCases } from './failure-cases.js';
import { imageCases } from './image-cases.js';
import { leftoverCases } from './leftover-cases.js';
import { nodeCases } from './node-cases.js';
import { OpenStackHarness } from './openstack-harness.js';
import { optionCases } from './option-cases.js';
import { quotaCases } from './quota-cases.js';
import { resumeCases } from './resume-cases.js';
import { shapeCases } from './shape-cases.js';
import { usageCases } from './usage-cases.js';

let harness: OpenStackHarness | undefined;
let story = '';

function get(): OpenStackHarness {
  if (!harness) throw new Error('the harness has not been started');
  return harness;
}

/** No limit of its own: each step of the start has one, and installing packages and making tables takes as long as the machine is busy. */
const NO_LIMIT = 0;

beforeAll(async () => {
  harness = await OpenStackHarness.start();
}, NO_LIMIT);

let startedMs = 0;

beforeEach(async ({ onTestFailed }) => {
  onTestFailed(({ task }) => {
    const problems = (task.result?.errors ?? []).map(({ message, diff = '' }) => `${message}\n${diff}`);
    console.error(`--- ${task.name}\n${problems.join('\n')}\n${story}`);
  });
  startedMs = Date.now();
  await get().startTest();
});

afterEach(async ({ task }) => {
  try {
    await get().restoreCloud();
    if (task.result?.state !== 'fail') await get().assertClean(60_000);
  } finally {
    story = (await get().story()).slice(-20_000);
    await get().endTest();
    // the whole takes an hour, and vitest says nothing before its end
    console.log(`${((Date.now() - startedMs) / 1_000).toFixed(0)} s: ${task.name}`);
  }
}, 240_000);

afterAll(async () => {
  await harness?.stop();
}, 120_000);

shapeCases(get);
leftoverCases(get);
failureCases(get);
nodeCases(get);
builderCases(get);
optionCases(get);
imageCases(get);
quotaCases(get);
usageCases(get);
resumeCases(get);
