import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ImageTree, isPoolComponent } from '@nodepool/zk-protocol';
import type { BuildRecord, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { buildsOf, failureNote, withdrawnNote } from '@nodepool/core/service';
import type { Listing } from '@nodepool/core/service';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { fetchControls } from '../connection/fetch-controls.js';
import { fetchComponents, fetchNodeRows } from '../connection/fetch-records.js';
import { findProblems } from '../configuration/validate.js';
import { toldUrls } from '../connection/web-urls.js';
import { coloured, usesColour } from '../terminal/colour.js';
import { printListing } from '../terminal/output.js';
import { askServices } from './ask-services.js';
import type { Finding, Situation } from './finding.js';
import { findAll } from './findings.js';

const findingListing: Listing<Finding> = [
  { key: 'severity', header: 'Severity', level: 'brief', value: ({ severity }) => severity },
  { key: 'text', header: 'Finding', level: 'brief', value: ({ text }) => text },
  { key: 'remedy', header: 'Remedy', level: 'brief', value: ({ remedy }) => remedy },
];

/** `nodepool doctor`: what is wrong now, each with its fix. @returns 1 when something does not work */
export async function examine(context: CliContext): Promise<number> {
  const config = await loadIfPresent(context);
  const findings = findAll(await withZooKeeper(context, (zk) => look(context, zk, config)));
  if (context.options.format === 'table' && context.options.fields === undefined) printText(context, findings);
  else printListing(context, findingListing, findings);
  return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
}

function printText(context: CliContext, findings: readonly Finding[]): void {
  const isColoured = usesColour(process.stdout.isTTY, context.env);
  for (const { severity, text, remedy } of findings) {
    print(`: ${text}\n  ${remedy}`, coloured(severity, severity === 'error' ? 'red' : 'yellow', isColoured));
  }
  if (findings.length === 0) print('Nothing is wrong.');
}

async function look(context: CliContext, zk: ZooKeeper, config: Config | undefined): Promise<Situation> {
  const source = { ...context, zk };
  const answerMs = await fastestAnswer(context, zk);
  const [configProblems, nodes, controls, images, ...components] = await Promise.all([
    config ? findProblems(context) : [],
    fetchNodeRows(source),
    fetchControls(source),
    lookAtImages(context, zk, config),
    ...['launcher', 'pool', 'builder'].map((kind) => fetchComponents(source, kind)),
  ]);
  return {
    ...{ nowMs: context.clock.now(), config, configProblems, nodes, controls, ...images, answerMs },
    services: await askServices([...new Set(toldUrls(components.flat(), hostname()))], context.clock),
    components: components.flat(),
    pools: components.flat().filter(isPoolComponent),
    secretFiles: await secretFiles(context),
  };
}

const ANSWERS = 5;

/** The fastest of a few answers, so that a moment in which this machine is busy does not count. */
async function fastestAnswer({ clock }: CliContext, zk: ZooKeeper): Promise<number> {
  let fastest = Infinity;
  for (let i = 0; i < ANSWERS; i++) {
    const beforeMs = clock.now();
    await zk.exists('/nodepool');
    fastest = Math.min(fastest, clock.now() - beforeMs);
  }
  return fastest;
}

/** Images whose records could be read, with their newest ready build, and those whose newest build does not serve. */
async function lookAtImages(context: CliContext, zk: ZooKeeper, config: Config | undefined) {
  const builds = new Map<string, BuildRecord | undefined>();
  const withdrawn = new Map<string, string>();
  const failedBuilds = new Map<string, string>();
  const { clock, logger } = context;
  const tree = new ImageTree({ zk, clock, logger, changed: () => undefined });
  try {
    await tree.start();
    if (!tree.ready) return { builds, withdrawn, failedBuilds };
    for (const { name, abstract } of config?.diskimages.values() ?? []) if (!abstract) builds.set(name, undefined);
    for (const { build } of buildsOf(tree.images)) {
      const known = builds.get(build.image);
      if (build.state === 'ready' && (known?.stateTimeMs ?? 0) < build.stateTimeMs) builds.set(build.image, build);
    }
    for (const [name, entry] of tree.images) {
      const why = withdrawnNote(entry, clock.now());
      if (why !== undefined) withdrawn.set(name, why);
      const failure = failureNote(entry);
      if (failure !== undefined) failedBuilds.set(name, failure);
    }
    return { builds, withdrawn, failedBuilds };
  } finally {
    tree.stop();
  }
}

async function secretFiles({ options }: CliContext) {
  if (options.secureFile === undefined) return [];
  return [{ file: options.secureFile, mode: (await stat(options.secureFile)).mode }];
}
