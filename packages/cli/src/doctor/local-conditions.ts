import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Config, FoundCondition } from '@nodepool/core';
import type { ConfigProblem, UnservedProvider } from '@nodepool/core/config';
import {
  newCondition,
  noBuilderCondition,
  SHARED_CONDITIONS,
  unservedConditions,
  type ConditionTypes,
} from '@nodepool/core/service';
import { formatProblem } from '@nodepool/core/config';

/** What only the machine of the command can see. */
export const CONDITIONS = {
  SecretsReadable: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning: 'other users can read a file with secrets',
    reasons: { Mode: 'its permission bits' },
    nextStep: 'chmod 600 FILE',
  },
  NoLauncher: {
    ...{ kind: 'launcher', severity: 'error' },
    meaning: 'no launcher is registered, so requests wait',
    reasons: { NotRegistered: 'no launcher runs, or all use another ZooKeeper or chroot' },
    nextStep: 'start nodepool-launcher',
  },
  SlowAnswers: {
    ...{ kind: 'zookeeper', severity: 'warning' },
    meaning: 'ZooKeeper takes more than 250 ms to answer a read',
    reasons: { Slow: 'its disk or its load' },
    nextStep: 'check the disk and the load of the ZooKeeper servers',
  },
  NotRegistered: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'the configuration on the machine of the command has a provider that no launcher has registered',
    reasons: { NoPool: 'no launcher has it, or none has loaded the file' },
    nextStep: 'compare the configuration of the launchers, and check their logs',
  },
} as const satisfies ConditionTypes;

/** ZooKeeper is slow beyond this. */
const SLOW_ANSWER_MS = 250;
const READABLE_BY_OTHERS = 0o044;

/** Facts that only the machine of the command can see. */
export interface LocalFacts {
  readonly config: Config | undefined;
  /** The configuration file, as the command was given it. */
  readonly file: string;
  /** The file is there, and commands cannot use it. */
  readonly isUnusable?: boolean | undefined;
  /** Errors and warnings of the configuration, read with its drivers. */
  readonly configProblems: readonly ConfigProblem[];
  /** Providers whose driver is missing on this machine. */
  readonly unserved: ReadonlyMap<string, UnservedProvider>;
  /** Registered pools of all launchers. */
  readonly pools: readonly PoolComponentRecord[];
  /** A launcher is registered, be it one of the original. */
  readonly hasLauncher: boolean;
  readonly hasBuilder: boolean;
  /** Time that ZooKeeper takes to answer, ms. */
  readonly answerMs: number;
  /** Permission bits of files with secrets. */
  readonly secretFiles: readonly { readonly file: string; readonly mode: number }[];
}

/** Conditions that services cannot detect themselves. */
export function localConditions(facts: LocalFacts): FoundCondition[] {
  return [
    ...noLauncher(facts),
    ...noBuilder(facts),
    ...facts.configProblems
      .filter((problem) => !isOfOpenSecret(problem, facts))
      .map((problem) => configProblem(problem, facts)),
    ...unservedConditions(facts, facts.pools),
    ...unregisteredProviders(facts),
    ...slowZooKeeper(facts),
    ...openSecrets(facts),
  ];
}

function noLauncher({ hasLauncher }: LocalFacts): FoundCondition[] {
  if (hasLauncher) return [];
  const message = 'no launcher is registered: requests are not served';
  return [
    newCondition(CONDITIONS, 'NoLauncher', {
      ...{ name: 'any', reason: 'NotRegistered', message, nextStep: 'nodepool-launcher' },
    }),
  ];
}

function noBuilder({ config, hasBuilder }: LocalFacts): FoundCondition[] {
  const images = [...(config?.diskimages.values() ?? [])].filter(({ abstract, pause }) => !abstract && !pause);
  return hasBuilder || images.length === 0 ? [] : [noBuilderCondition()];
}

/** A file of secrets as a whole: {@link openSecrets} has it. */
function isOfOpenSecret({ severity, position, path }: ConfigProblem, { secretFiles }: LocalFacts): boolean {
  return severity === 'warning' && path === '' && secretFiles.some(({ file }) => file === position?.file);
}

/** Describes the file as this machine reads it; launchers report their own view. */
function configProblem(problem: ConfigProblem, { file, isUnusable = false }: LocalFacts): FoundCondition {
  const { position, path, severity } = problem;
  const name = position === undefined ? path : `${position.file}:${position.line}:${position.column}`;
  const message = formatProblem(problem).replace(`${name}: `, '');
  return newCondition(SHARED_CONDITIONS, 'ConfigurationProblem', {
    ...{ name, reason: 'Invalid', message, severity: isUnusable ? severity : 'warning' },
    nextStep: `nodepool -c ${file} config-validate`,
  });
}

function unregisteredProviders({ config, pools, unserved, hasLauncher }: LocalFacts): FoundCondition[] {
  if (!hasLauncher) return [];
  const registered = new Set(pools.map(({ providerName }) => providerName));
  const missing = [...(config?.providers.values() ?? [])].filter(
    ({ name }) => !registered.has(name) && !unserved.has(name),
  );
  return missing.map(({ name }) =>
    newCondition(CONDITIONS, 'NotRegistered', {
      ...{ name, reason: 'NoPool', message: 'the configuration has it, and no launcher has registered a pool of it' },
      nextStep: 'compare the configuration of the launchers with this one, and look at their logs',
    }),
  );
}

function slowZooKeeper({ answerMs }: LocalFacts): FoundCondition[] {
  if (answerMs <= SLOW_ANSWER_MS) return [];
  const message = `ZooKeeper takes ${Math.round(answerMs)} ms to answer`;
  const nextStep = 'look at the disk and the load of the ZooKeeper servers';
  return [
    newCondition(CONDITIONS, 'SlowAnswers', {
      ...{ name: 'ensemble', reason: 'Slow', message, nextStep, evidence: { ms: answerMs } },
    }),
  ];
}

function openSecrets({ secretFiles }: LocalFacts): FoundCondition[] {
  return secretFiles
    .filter(({ mode }) => (mode & READABLE_BY_OTHERS) !== 0)
    .map(({ file, mode }) =>
      newCondition(CONDITIONS, 'SecretsReadable', {
        ...{ name: file, reason: 'Mode', nextStep: `chmod 600 ${file}` },
        message: `it has secrets and can be read by others (mode ${(mode & 0o777).toString(8)})`,
      }),
    );
}
