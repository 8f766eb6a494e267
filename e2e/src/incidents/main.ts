// main.js [PATTERN]: goes through incidents on a real OpenStack, those whose names match, and prints what each instrument says of
// the cause after 30 s and after 60 s. The exit status is 1 if a cause is named by none.
import { setTimeout as pause } from 'node:timers/promises';
import { OpenStackHarness } from '../openstack/openstack-harness.js';
import { API_INCIDENTS } from './api-incidents.js';
import type { Incident } from './incident.js';
import { askAll, runCommand } from './instruments.js';
import { incidentText, summary, unnamed, type Answer, type Outcome } from './report.js';
import { RESOURCE_INCIDENTS } from './resource-incidents.js';
import { SERVICE_INCIDENTS } from './service-incidents.js';
import { Stage } from './stage.js';

/** When instruments are asked, seconds after the cause. */
const ASKED_S = [30, 60];
/** How long doctor may name a cause after the repair, and how often it is asked. */
const ENDED_S = 90;
const EVERY_S = 5;

const secondsSince = (startMs: number): number => Math.round((Date.now() - startMs) / 1_000);

async function askTwice(stage: Stage): Promise<Answer[]> {
  const answers: Answer[] = [];
  const startMs = Date.now();
  for (const afterS of ASKED_S) {
    await pause(Math.max(0, startMs + afterS * 1_000 - Date.now()));
    answers.push(...(await askAll(stage.looked, afterS)));
  }
  return answers;
}

async function repair(stage: Stage, { repair: undo, named }: Incident): Promise<number | undefined> {
  await undo?.(stage); // before limits are restored, which needs a login
  await stage.harness.restoreCloud();
  for (const startMs = Date.now(); secondsSince(startMs) < ENDED_S; await pause(EVERY_S * 1_000)) {
    const lines = await runCommand(stage.looked, ['doctor']);
    if (!lines.some((line) => named.test(line))) return secondsSince(startMs);
  }
  return undefined;
}

async function goThrough(harness: OpenStackHarness, incident: Incident): Promise<Outcome> {
  const { name, named } = incident;
  let outcome: Outcome = { name, named, answers: [] };
  let stage: Stage | undefined;
  try {
    await harness.startTest();
    const second = await incident.prepare?.(harness);
    stage = await Stage.start(harness, incident.setup ?? OpenStackHarness.setup(), second);
    for (const label of incident.labels ?? ['small']) await stage.work(label);
    await incident.cause(stage);
    outcome = { ...outcome, answers: await askTwice(stage) };
    outcome = { ...outcome, fact: await incident.fact?.(stage) };
  } catch (error) {
    outcome = { ...outcome, error: String(error) };
  }
  try {
    if (stage) outcome = { ...outcome, endedS: await repair(stage, incident) };
  } catch (error) {
    outcome = { ...outcome, error: outcome.error ?? String(error) };
  }
  stage?.stopWork();
  await harness.restoreCloud();
  await harness.endTest();
  await incident.end?.();
  return outcome;
}

const pattern = new RegExp(process.argv[2] ?? '', 'i');
const chosen = [...API_INCIDENTS, ...RESOURCE_INCIDENTS, ...SERVICE_INCIDENTS].filter(({ name }) => pattern.test(name));
const harness = await OpenStackHarness.start();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void harness.stop().finally(() => process.exit(1)));
}
const outcomes: Outcome[] = [];
try {
  for (const incident of chosen) {
    const outcome = await goThrough(harness, incident);
    outcomes.push(outcome);
    console.log(incidentText(outcome));
  }
} finally {
  await harness.stop();
}
console.log(summary(outcomes));
process.exit(unnamed(outcomes).length === 0 ? 0 : 1);
