import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cloud } from './cloud.js';
import type { ElasticLabel } from './configuration.js';
import { visitNodes } from './nodepool.js';
import type { NodepoolCommand } from './nodepool.js';
import type { Story } from './story.js';
import { QuickStartError, say } from './terminal.js';
import { JobTale, Usage } from './usage.js';

/** No job ends before all have begun, so that a machine is launched for them on the slowest computer as well. */
const FIRST_JOB_S = 3;
const OTHER_JOBS_S = 1;
/** From the end of the jobs until the last machine is gone. */
const SHRINK_TIMEOUT_MS = 60_000;
const PAUSE_MS = 100;

/** What rounds are played on. */
export interface Stage {
  readonly command: NodepoolCommand;
  readonly cloud: Cloud;
  readonly story: Story;
  /** Resolves when machines can be launched. */
  readonly imageReady: () => Promise<void>;
  /** Nodes there are when no request needs any. */
  readonly fixedSlots: () => number;
}

/** It is there until all jobs of a round have begun. */
const beginningFile = ({ stateDir }: NodepoolCommand): string => join(stateDir, 'jobs-begin');

interface Job {
  /** Resolves when it has its slot. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
}

function startJob(command: NodepoolCommand, label: string, seconds: number, usage: Usage): Job {
  let markStarted = () => {};
  const started = new Promise<void>((resolve) => (markStarted = resolve));
  const tale = new JobTale(usage, [label]);
  const onProgress = (line: string) => {
    if (tale.progress(line)) markStarted();
  };
  const output = { onOutput: tale.output, onProgress };
  const ended = visitNodes(command, [label], output, seconds, beginningFile(command)).then(() => tale.say('done'));
  return { started, ended };
}

/** Waits until Nodepool says so, and then asks the cloud itself. */
async function waitUntilEmpty({ cloud, story, command: { signal } }: Stage, onWait = () => {}): Promise<void> {
  const deadline = performance.now() + SHRINK_TIMEOUT_MS;
  for (let looks = 0; story.machines > 0 || (await cloud.countMachines()) > 0; looks++) {
    if (looks === 0) onWait();
    if (performance.now() > deadline) throw new QuickStartError('there are still machines in the cloud');
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/**
 * One job for which a machine is launched, then so many that another machine is needed; afterwards all machines are given
 * back. Resolves when the cloud is empty.
 */
export async function playElasticRound(stage: Stage, { name, slots }: ElasticLabel): Promise<void> {
  const { command } = stage;
  await waitUntilEmpty(stage, () => say('the cloud has machines of an earlier run: they are given back first'));
  say('the cloud is empty');
  await stage.imageReady();
  const usage = new Usage();
  const start = (seconds: number) => startJob(command, name, seconds, usage);
  await writeFile(beginningFile(command), '');
  const first = start(FIRST_JOB_S);
  await Promise.race([first.started, first.ended]);
  say(`demand grows: ${slots} more jobs`);
  const others = Array.from({ length: slots }, () => start(OTHER_JOBS_S));
  const jobs = [first, ...others];
  await Promise.all(jobs.map(({ started, ended }) => Promise.race([started, ended])));
  await rm(beginningFile(command), { force: true });
  await Promise.all(jobs.map(({ ended }) => ended));
  say('  all jobs are done: machines without a job are given back');
  await waitUntilEmpty(stage);
  await usage.waitUntilClean(command, stage.fixedSlots);
  say('the cloud is empty again');
}
