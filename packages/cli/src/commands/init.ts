import { access, constants, mkdtemp, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createDriverRegistry } from '@nodepool/core/config';
import { defineCommand, flag, text, texts } from '../command/command.js';
import type { Values } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import { CliError, describeError } from '../command/errors.js';
import { shellWord } from '@nodepool/core/service';
import { temporaryDirectory } from '../command/temporary-directory.js';
import { UsageError } from '../command/usage-error.js';
import { driverPlaces } from '../connection/config.js';
import { checkHosts } from '../init/check-host.js';
import type { HostCheck } from '../init/check-host.js';
import { answerQuestions } from '../init/cloud.js';
import { configText, staticConfig } from '../init/config-text.js';
import type { CheckedHost } from '../init/config-text.js';
import { describeHost, parseHosts } from '../init/hosts.js';
import type { HostAddress } from '../init/hosts.js';
import { findUntrusting, readLeaseCa, trustText, type LeaseCa } from '../init/lease-ca.js';
import { Prompter } from '../init/prompter.js';
import { checkTarget, writeConfig } from '../init/write-config.js';
import { Interrupts } from '../terminal/interrupts.js';

const DEFAULT_FILE = 'nodepool.yaml';
const DEFAULT_LABEL = 'linux';
/** With more machines only those that fail are shown one by one. */
const MOST_SHOWN = 20;
const LABEL = /^[\w.+-]+$/;

/** `nodepool init`. */
export const command = defineCommand({
  positionals: {
    hosts: { type: 'string', array: true, default: [], describe: 'machines, as user@host or user@host:port' },
  },
  options: {
    cloud: {
      ...{ type: 'string', requiresArg: true, value: 'DRIVER' },
      describe:
        'make machines in a cloud: openstack, gce or incus; credentials are found where the tools of the cloud find them',
    },
    set: {
      ...{ type: 'string', array: true, nargs: 1, requiresArg: true, value: 'KEY=VALUE' },
      describe: 'answer to a question of --cloud, such as image=NAME; may be repeated',
    },
    label: { type: 'string', requiresArg: true, value: 'LABEL', describe: `what jobs ask for [${DEFAULT_LABEL}]` },
    identity: {
      ...{ type: 'string', alias: 'i', requiresArg: true, value: 'FILE' },
      describe: 'private key to log in to the machines with; default: those of ssh',
    },
    'lease-ca': {
      ...{ type: 'string', requiresArg: true, value: 'FILE' },
      describe: 'key of nodepool ca create: lets lessees log in to the machines, and shows what these lack for it',
    },
    timeout: {
      ...{ type: 'string', default: '10s', requiresArg: true, value: 'TIME' },
      describe: 'how long a machine may take to answer',
    },
    'max-servers': {
      ...{ type: 'string', default: '5', requiresArg: true, value: 'N' },
      describe: 'with --cloud: at most this many machines at a time',
    },
    'skip-failed': { type: 'boolean', default: false, describe: 'leave out machines that cannot be used' },
  },
  parse,
  run: init,
});

/** What `nodepool init` is asked. */
interface InitOptions {
  readonly hosts: readonly HostAddress[];
  readonly cloud: string | undefined;
  readonly answers: Readonly<Record<string, string>>;
  readonly label: string | undefined;
  readonly leaseCa: string | undefined;
  readonly identity: string | undefined;
  readonly timeoutMs: number;
  readonly maxServers: number;
  readonly skipsFailed: boolean;
}

/** What the steps of the command share. */
interface Dialogue {
  readonly context: CliContext;
  readonly options: InitOptions;
  readonly file: string;
  /** `undefined`: there is no terminal. */
  readonly prompter: Prompter | undefined;
  readonly signal: AbortSignal;
}

function parse(values: Values): InitOptions {
  const cloud = text(values, 'cloud');
  const hosts = parseHosts(texts(values, 'hosts'));
  const answers = parseAnswers(texts(values, 'set'));
  const maxServers = Number(text(values, 'max-servers'));
  if (cloud !== undefined && hosts.length > 0) throw new UsageError('name machines, or --cloud, not both');
  const leaseCa = text(values, 'lease-ca');
  if (cloud !== undefined && leaseCa !== undefined) throw new UsageError('--lease-ca is for machines, not for --cloud');
  if (cloud === undefined && Object.keys(answers).length > 0) throw new UsageError('--set needs --cloud');
  if (!Number.isInteger(maxServers) || maxServers < 1)
    throw new UsageError('--max-servers needs a whole number from 1');
  const timeoutMs = parseDuration(text(values, 'timeout') ?? '', '--timeout');
  if (timeoutMs <= 0) throw new UsageError('--timeout must be longer than 0');
  return {
    ...{ hosts, cloud, answers, timeoutMs, maxServers },
    label: checkedLabel(text(values, 'label')),
    identity: text(values, 'identity'),
    leaseCa,
    skipsFailed: flag(values, 'skip-failed'),
  };
}

function parseAnswers(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((each) => {
      const [key = '', ...value] = each.split('=');
      if (key === '' || value.join('=') === '') throw new UsageError(`--set needs KEY=VALUE, got "${each}"`);
      return [key, value.join('=')];
    }),
  );
}

function checkedLabel(label: string | undefined): string | undefined {
  if (label === undefined || LABEL.test(label)) return label;
  throw new UsageError(`"${label}" is not a label: use letters, digits and . _ + -`);
}

/** `nodepool init`: checks machines, or asks a cloud what it has, and writes a configuration for them. */
async function init(context: CliContext, options: InitOptions): Promise<void> {
  const file = context.options.configFileNamed ? context.options.configFile : DEFAULT_FILE;
  await checkTarget(file);
  const interrupts = new Interrupts();
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const prompter = isTerminal ? new Prompter(interrupts.signal) : undefined;
  try {
    const dialogue = { context, options, file, prompter, signal: interrupts.signal };
    const { config, label } =
      options.cloud === undefined ? await setUpHosts(dialogue) : await setUpCloud(dialogue, options.cloud);
    interrupts.signal.throwIfAborted();
    await writeConfig(context, file, config);
    showNextSteps(context, file, { label, identity: options.identity });
  } finally {
    prompter?.close();
    interrupts.dispose();
  }
}

async function setUpHosts(dialogue: Dialogue): Promise<{ config: string; label: string }> {
  const { options, prompter, file, signal } = dialogue;
  const { identity, leaseCa } = options;
  const ca = leaseCa === undefined ? undefined : await readLeaseCa(leaseCa);
  await createDriverRegistry(driverPlaces(file)).get('static');
  if (identity !== undefined) await checkIdentity(identity);
  const directory = await mkdtemp(join(temporaryDirectory(), 'nodepool-init-'));
  try {
    const check = (hosts: readonly HostAddress[]) => checkAll(hosts, { ...options, directory, signal });
    const checks = options.hosts.length > 0 ? await check(options.hosts) : await askHosts(prompter, check);
    const usable = await usableHosts(dialogue, checks);
    const label = options.label ?? (await askLabel(prompter));
    if (ca) await showTrust(usable, ca, { ...options, directory, signal });
    return { config: staticConfig(usable, label, ca?.file), label };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Says which machines take certificates of leases, and what the others lack. @throws CliError */
async function showTrust(
  hosts: readonly CheckedHost[],
  ca: LeaseCa,
  options: Parameters<typeof checkHosts>[1],
): Promise<void> {
  const lacking = await findUntrusting(hosts, ca, options);
  if (lacking.length > 0) print(trustText(lacking, ca));
  else print('  all of them take certificates of leases');
}

/** As `ssh` finds it: a shell leaves the `~` of `--identity=~/.ssh/ci`. @throws CliError */
async function checkIdentity(identity: string): Promise<void> {
  await access(identity.replace(/^~(?=\/)/, homedir()), constants.R_OK).catch((error: unknown) => {
    throw new CliError(`Cannot read the key of --identity ${identity}: ${describeError(error)}`, { cause: error });
  });
}

type CheckAll = (hosts: readonly HostAddress[]) => Promise<HostCheck[]>;

async function askHosts(prompter: Prompter | undefined, check: CheckAll): Promise<HostCheck[]> {
  if (!prompter)
    throw new UsageError('name the machines to lend: nodepool init user@host ..., or a cloud with --cloud');
  print('Which machines do you lend? Name them as user@host or user@host:port, several with spaces between.');
  const checks = new Map<string, HostCheck>();
  for (;;) {
    const answer = await prompter.ask(checks.size === 0 ? 'machines' : 'more machines (empty: done)');
    if (answer === '') {
      if (checks.size > 0) return [...checks.values()];
      continue;
    }
    try {
      for (const each of await check(parseHosts(answer.split(/[\s,]+/)))) checks.set(describeHost(each.host), each);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      print(error.message);
    }
  }
}

async function checkAll(
  hosts: readonly HostAddress[],
  options: Parameters<typeof checkHosts>[1],
): Promise<HostCheck[]> {
  if (hosts.length > MOST_SHOWN) print(`Checking ${hosts.length} machines ...`);
  return checkHosts(hosts, options, (check) => {
    if ('problem' in check) inform(`  ${describeHost(check.host)}: ${check.problem}`);
    else if (hosts.length <= MOST_SHOWN) print(`  ${describeHost(check.host)}: reached, host keys read, logged in`);
  });
}

/** @throws CliError when some cannot be used and are not to be left out */
async function usableHosts({ options, prompter }: Dialogue, checks: readonly HostCheck[]): Promise<CheckedHost[]> {
  const usable = checks.filter((check) => 'keys' in check);
  const failed = checks.length - usable.length;
  if (failed === 0) return usable;
  const counted = `${failed} of ${checks.length} machines cannot be used`;
  if (usable.length === 0) throw new CliError(`${counted}; no file was written`);
  if (options.skipsFailed) return usable;
  const answer = await prompter?.ask(`${counted}. Write the file without them? y/n`, 'n');
  if (answer?.toLowerCase().startsWith('y')) return usable;
  throw new CliError(`${counted}; no file was written. To leave them out, add --skip-failed`);
}

async function askLabel(prompter: Prompter | undefined): Promise<string> {
  while (prompter) {
    const label = await prompter.ask('label that jobs ask for', DEFAULT_LABEL);
    if (LABEL.test(label)) return label;
    print(`"${label}" is not a label: use letters, digits and . _ + -`);
  }
  return DEFAULT_LABEL;
}

async function setUpCloud(dialogue: Dialogue, cloud: string): Promise<{ config: string; label: string }> {
  const { context, options, prompter, signal, file } = dialogue;
  const { setup } = await createDriverRegistry(driverPlaces(file)).get(cloud);
  if (!setup) {
    throw new CliError(
      `The driver "${cloud}" cannot list what there is: write the provider by hand, as its README shows`,
    );
  }
  const answers = await answerQuestions(context, { setup, given: options.answers, prompter, signal });
  const label = options.label ?? (await askLabel(prompter));
  const { pools = [], ...entry } = setup.getEntry(answers, label);
  const limited = (pools as object[]).map((pool) => ({ ...pool, 'max-servers': options.maxServers }));
  return { config: configText({ name: cloud, driver: cloud, ...entry, pools: limited }, label), label };
}

interface NextSteps {
  readonly label: string;
  /** Private key that the machines were checked with. */
  readonly identity: string | undefined;
}

/** The words to type next, as this command was called. */
function showNextSteps({ env }: CliContext, file: string, { label, identity }: NextSteps): void {
  const npx = env['npm_command'] === 'exec' ? 'npx ' : '';
  const config = `-c ${shellWord(file)}`;
  const key = identity === undefined ? '' : ` --identity ${shellWord(identity)}`;
  print(`Wrote ${file}. It is valid.

Start the service:
  ${npx}nodepool-launcher -f ${config}
Then, in a second terminal, run a command on one of the machines:
  ${npx}nodepool ssh${key} ${label} -- uname -a
The status page: http://127.0.0.1:8005`);
}
