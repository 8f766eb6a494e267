import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '@nodepool/core';
import { formatProblem, type ConfigProblem } from '@nodepool/core/config';
import {
  ConditionList,
  SHARED_CONDITIONS,
  asUnknown,
  conditionText,
  firstOf,
  foldConditions,
  mergeConditions,
  newCondition,
  nextStepText,
  publishedConditions,
} from '@nodepool/core/service';
import type { Listing, SharedCondition, Condition } from '@nodepool/core/service';
import { isNodepoolError, isPoolComponent } from '@nodepool/zk-protocol';
import type { ComponentRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { NO_ARGUMENTS, defineCommand } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { NoConnectionError } from '../command/errors.js';
import { fetchServices } from '../conditions/fetch-conditions.js';
import { checkFile, problemsOf, type CheckedFile } from '../configuration/problems.js';
import { loadIfPresent, withZooKeeper, type KnownSettings } from '../connection/connection.js';
import { fetchComponents } from '../connection/fetch-records.js';
import { registeredUrls } from '../connection/web-urls.js';
import { askService, type ServiceAnswer } from '../doctor/ask-services.js';
import { localConditions } from '../doctor/local-conditions.js';
import { coloured, usesColour } from '../terminal/colour.js';
import { printListing } from '../terminal/output.js';

/** `nodepool doctor`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: examine,
});

const conditionListing: Listing<SharedCondition> = [
  { key: 'severity', header: 'Severity', level: 'brief', value: ({ severity }) => severity },
  { key: 'text', header: 'Finding', level: 'brief', isChanging: true, value: conditionText },
  { key: 'remedy', header: 'Remedy', level: 'brief', value: nextStepText },
  { key: 'kind', header: 'Kind', level: 'extra', value: ({ kind }) => kind },
  { key: 'name', header: 'Name', level: 'extra', value: ({ name }) => name },
  { key: 'type', header: 'Type', level: 'extra', value: ({ type }) => type },
  { key: 'reason', header: 'Reason', level: 'extra', value: ({ reason }) => reason },
  { key: 'status', header: 'Status', level: 'extra', value: ({ status }) => status },
  { key: 'since', header: 'Since', level: 'extra', value: ({ sinceMs }) => sinceMs / 1_000 },
  { key: 'services', header: 'Services', level: 'extra', value: ({ services }) => [...services] },
];

/** `nodepool doctor`: current conditions, each with its fix. @returns 1 if one is an error */
async function examine(context: CliContext): Promise<number> {
  const read = await readFile(context);
  const conditions = await withZooKeeper(context, (zk) => look(context, zk, read), read.known).catch((error: unknown) =>
    withoutZooKeeper(context, error, read),
  );
  if (context.options.format === 'table' && context.options.fields === undefined) printText(context, conditions);
  else printListing(context, conditionListing, conditions);
  return conditions.some(({ severity }) => severity === 'error') ? 1 : 0;
}

function printText(context: CliContext, conditions: readonly SharedCondition[]): void {
  const isColoured = usesColour(process.stdout.isTTY, context.env);
  const nowMs = context.clock.now();
  for (const { condition, follows, severity } of foldConditions(conditions)) {
    const text = `: ${conditionText(condition, nowMs)}\n  ${nextStepText(condition)}${followsText(follows)}`;
    print(text, coloured(severity, severity === 'error' ? 'red' : 'yellow', isColoured));
  }
  if (conditions.length === 0) print('Nothing is wrong.');
}

/** Number of conditions that are named under their cause. */
const MOST_FOLLOWING = 5;

/** What ends with a condition, in one line; the other formats have it whole. */
function followsText(follows: readonly Condition[]): string {
  const names = follows.map(({ kind, name, type }) => `${kind} ${name} ${type}`);
  return names.length === 0 ? '' : `\n  with it ends: ${firstOf(names, MOST_FOLLOWING)}`;
}

/** The configuration file as this command can use it. */
interface ReadFile {
  /** `undefined`: there is none, or it cannot be used. */
  readonly config: Config | undefined;
  /** Why it cannot be used. */
  readonly broken: readonly ConfigProblem[];
  readonly known: KnownSettings;
}

/** A file that cannot be used hides nothing of what services have published, as long as a connection is possible. */
async function readFile(context: CliContext): Promise<ReadFile> {
  let zookeeper: Config['zookeeper'] | undefined;
  try {
    const config = await loadIfPresent(context, { zookeeperRead: (settings) => (zookeeper = settings) });
    return { config, broken: [], known: config ?? {} };
  } catch (error) {
    if (!isNodepoolError(error)) throw error;
    return { config: undefined, broken: problemsOf(error), known: { zookeeper } };
  }
}

/** Reports a missing connection as a condition, beside what keeps the configuration from being used. */
function withoutZooKeeper(
  { options, clock }: CliContext,
  error: unknown,
  { broken, known }: ReadFile,
): SharedCondition[] {
  if (!(error instanceof NoConnectionError)) throw error;
  const { reason, finding, nextStep } = error;
  const message = known.zookeeper ? finding : `The servers are not known, as the configuration is broken. ${finding}`;
  const file = { file: options.configFile, config: undefined, isUnusable: true, configProblems: broken };
  const rest = { unserved: new Map(), pools: [], hasLauncher: true, hasBuilder: true, answerMs: 0, secretFiles: [] };
  const found = new ConditionList();
  const missing = newCondition(SHARED_CONDITIONS, 'NotConnected', { name: 'ensemble', reason, message, nextStep });
  found.update([...localConditions({ ...file, ...rest }), missing], clock.now());
  return mergeConditions([{ service: `command ${hostname()}`, conditions: found.all }]);
}

const NO_FILE: CheckedFile = { problems: [], unserved: new Map() };

/** Conditions that services have published, and those that only this machine sees. */
async function look(context: CliContext, zk: ZooKeeper, { config, broken }: ReadFile): Promise<SharedCondition[]> {
  const source = { ...context, zk };
  const answerMs = await fastestAnswer(context, zk);
  const [{ problems, unserved }, services, components, secrets] = await Promise.all([
    config ? checkFile(context, { leavesUnserved: true }) : { ...NO_FILE, problems: broken },
    fetchServices(source),
    fetchComponents(source, 'pool'),
    secretFiles(context),
  ]);
  const answers = await Promise.all(services.map((service) => askService(service, urlOf(service), context.clock)));
  const pools = components.filter(isPoolComponent);
  const ofUnserved = new Set([...unserved.values()].map(({ problem }) => problem));
  const configProblems = problems.filter((problem) => !ofUnserved.has(problem));
  const hasLauncher = pools.length > 0 || services.some(({ kind }) => kind === 'launcher');
  const hasBuilder = services.some(({ kind }) => kind === 'builder');
  const file = context.options.configFile;
  const { published, hasProblems } = publishedBy(answers, {
    file,
    isUnusable: broken.length > 0,
    problems: configProblems,
  });
  const local = new ConditionList();
  local.update(
    [
      ...localConditions({
        ...{ config, file, isUnusable: broken.length > 0, configProblems: hasProblems ? [] : configProblems, unserved },
        ...{ pools, hasLauncher, hasBuilder, answerMs, secretFiles: secrets },
      }),
      ...answers.flatMap(({ found }) => found),
    ],
    context.clock.now(),
  );
  return mergeConditions([...published, { service: `command ${hostname()}`, conditions: local.all }]);
}

function isOfThisMachine(service: ComponentRecord): boolean {
  return service.hostname.split('.', 1)[0] === hostname().split('.', 1)[0];
}

/** Problems named in one message. */
const MOST_PROBLEMS = 3;

/** The file of this command. */
interface OwnFile {
  readonly file: string;
  readonly isUnusable: boolean;
  readonly problems: readonly ConfigProblem[];
}

/**
 * What services have published; of those of this machine without warnings of the file whose problems this command lists. That they
 * do not load it gets its errors, which are told there then (`hasProblems`).
 */
function publishedBy(answers: readonly ServiceAnswer[], { file, isUnusable, problems }: OwnFile) {
  const errors = problems.filter(({ severity }) => severity === 'error').map(formatProblem);
  let hasProblems = false;
  const published = answers.map(({ component, isSilent }) => {
    const { service, conditions } = publishedConditions(component);
    const isSeenHere = problems.length > 0 && isOfThisMachine(component);
    const own = conditions.flatMap((each): Condition[] => {
      const about = isSeenHere && resolve(each.name) === resolve(file) ? `${each.type} ${each.reason}` : '';
      if (about === 'ConfigurationProblem Warnings' && !isUnusable) return [];
      if (about !== 'ConfigurationNotLoaded Invalid' || errors.length === 0) return [each];
      hasProblems = true;
      const what = `${component.hostname} continues with its former configuration`;
      return [{ ...each, message: `${what}: ${firstOf(errors, MOST_PROBLEMS, '; ')}` }];
    });
    return isSilent ? asUnknown({ service, conditions: own }) : { service, conditions: own };
  });
  return { published, hasProblems };
}

function urlOf(service: ComponentRecord): string | undefined {
  return registeredUrls([service], hostname())[0];
}

const ANSWERS = 5;

/** The fastest of a few answers, so that load of this machine does not count. */
async function fastestAnswer({ clock }: CliContext, zk: ZooKeeper): Promise<number> {
  let fastest = Infinity;
  for (let i = 0; i < ANSWERS; i++) {
    const beforeMs = clock.now();
    await zk.exists('/nodepool');
    fastest = Math.min(fastest, clock.now() - beforeMs);
  }
  return fastest;
}

async function secretFiles({ options }: CliContext) {
  if (options.secureFile === undefined) return [];
  return [{ file: options.secureFile, mode: (await stat(options.secureFile)).mode }];
}
