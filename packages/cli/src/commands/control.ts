import { describeControl, newControl, removeControl, storeControl } from '@nodepool/zk-protocol';
import type { ControlKind, ControlMode, ControlSubject, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import type { CommandModule, Values } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { withZooKeeper } from '../connection/connection.js';
import { knownNames, meantText } from '../connection/known-names.js';
import { personName } from '../connection/who-am-i.js';

/** Kinds that have a command of their name. */
export type OperatorControlKind = Exclude<ControlKind, 'node'>;

const ACTIONS = ['pause', 'resume', 'drain', 'limit'] as const;

const NAMES: Readonly<Record<OperatorControlKind, string>> = {
  provider: 'name of the provider',
  pool: 'the pool, as PROVIDER/POOL',
  label: 'name of the label',
  image: 'name of the disk image',
};

/** `nodepool provider`, `pool`, `label` and `image`. */
export function controlCommand(kind: OperatorControlKind): CommandModule<ControlArguments> {
  return defineCommand({
    positionals: {
      action: { type: 'string', demandOption: true, choices: ACTIONS, describe: ACTIONS.join(', ') },
      name: { type: 'string', demandOption: true, describe: NAMES[kind] },
      nodes: { type: 'string', describe: 'limit: maximum number of nodes' },
    },
    options: {
      force: { type: 'boolean', default: false, describe: 'accept a name that no launcher has yet' },
      for: { type: 'string', requiresArg: true, value: 'TIME', describe: 'end the order after this time, e.g. 2h' },
      reason: { type: 'string', requiresArg: true, mayBeEmpty: true, describe: 'reason, shown to waiting requestors' },
      owner: { type: 'string', requiresArg: true, value: 'NAME', describe: 'who gives the order; default: the caller' },
    },
    parse: (values) => parse(kind, values),
    run: changeControl,
  });
}

function parse(kind: OperatorControlKind, values: Values): ControlArguments {
  const action = text(values, 'action') as ControlMode | 'resume';
  const name = text(values, 'name') ?? '';
  if (kind === 'pool' && !/^[^/]+\/.+$/.test(name))
    throw new UsageError(`a pool is named PROVIDER/POOL, got "${name}"`);
  const time = text(values, 'for');
  const forMs = time === undefined ? undefined : parseDuration(time, '--for');
  if (forMs === 0) throw new UsageError('--for needs a time above 0');
  const limit = readLimit(action, text(values, 'nodes'));
  return {
    subject: { kind, name },
    action,
    limit,
    forMs,
    owner: text(values, 'owner'),
    reason: text(values, 'reason') ?? '',
    force: flag(values, 'force'),
  };
}

function readLimit(action: string, nodes: string | undefined): number | null {
  if (action !== 'limit') {
    if (nodes !== undefined) throw new UsageError(`${action} takes no number, got "${nodes}"`);
    return null;
  }
  if (nodes === undefined || !/^\d{1,9}$/.test(nodes))
    throw new UsageError('limit needs a number of nodes: limit NAME 10');
  return Number(nodes);
}

/** Arguments of `nodepool provider`, `pool`, `label` and `image`. */
interface ControlArguments {
  readonly subject: { readonly kind: OperatorControlKind; readonly name: string };
  readonly action: ControlMode | 'resume';
  readonly limit: number | null;
  /** The order ends after this time. */
  readonly forMs: number | undefined;
  readonly owner: string | undefined;
  readonly reason: string;
  /** Accept an unknown name. */
  readonly force: boolean;
}

/** Pauses, drains, limits or resumes a provider, pool, label or image, in all launchers at once. */
async function changeControl(context: CliContext, args: ControlArguments): Promise<void> {
  await withZooKeeper(context, async (zk) => {
    if (args.action === 'resume') await resume(context, zk, args);
    else await give(context, zk, args, args.action);
  });
}

const titleOf = ({ kind, name }: ControlSubject) => `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name}`;

/** Rejects unknown names: a typing error must not look like an order in force. @throws CliError with the name that was probably meant */
async function checkName(context: CliContext, zk: ZooKeeper, { subject, force }: ControlArguments): Promise<void> {
  const { kind, name } = subject;
  if (force) return;
  const known = await knownNames(context, zk, kind);
  if (known.includes(name)) return;
  throw new CliError(
    `No registered launcher and no configuration here has the ${kind} ${name}${meantText(name, known)}. ` +
      'Use --force for a name that is not known yet',
  );
}

async function resume(context: CliContext, zk: ZooKeeper, args: ControlArguments): Promise<void> {
  const { subject } = args;
  if (await removeControl(zk, subject)) {
    print(`${titleOf(subject)} is back in service`);
    return;
  }
  await checkName(context, zk, args);
  const text = `${titleOf(subject)} is neither paused nor limited`;
  if (context.options.strict) throw new CliError(text);
  print(text);
}

async function give(context: CliContext, zk: ZooKeeper, args: ControlArguments, mode: ControlMode): Promise<void> {
  const { subject, limit, reason, forMs } = args;
  await checkName(context, zk, args);
  const nowMs = context.clock.now();
  const owner = args.owner ?? personName();
  const endTimeMs = forMs === undefined ? null : nowMs + forMs;
  const control = newControl({ ...subject, mode, limit, owner, reason, endTimeMs }, nowMs);
  await storeControl(zk, control);
  print(`${titleOf(subject)} is ${describeControl(control)}`);
}
