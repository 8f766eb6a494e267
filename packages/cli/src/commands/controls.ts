import type { ControlMode } from '@nodepool/zk-protocol';
import { defineCommand, flag, NO_ARGUMENTS, text } from '../command/command.js';
import type { Command, Values } from '../command/command.js';
import { parseDuration } from '../command/duration.js';
import { UsageError } from '../command/usage-error.js';
import type { ControlArguments } from '../controls/change-control.js';

const ACTIONS = ['pause', 'resume', 'drain', 'limit'] as const;

/** `nodepool controls`. */
export const controlsCommand = defineCommand({
  name: 'controls',
  summary: 'list what operators have paused, drained or limited',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../controls/list-controls.js')).listControls(context),
});

/** `nodepool provider`. */
export const providerCommand = controlCommand('provider', 'a provider', 'name of the provider');
/** `nodepool pool`. */
export const poolCommand = controlCommand('pool', 'a pool', 'the pool, as PROVIDER/POOL');
/** `nodepool label`. */
export const labelCommand = controlCommand('label', 'a label', 'name of the label');
/** `nodepool image`. */
export const imageCommand = controlCommand('image', 'labels of a disk image', 'name of the disk image');

function controlCommand(
  kind: ControlArguments['subject']['kind'],
  what: string,
  name: string,
): Command<ControlArguments> {
  return defineCommand({
    name: kind,
    usage: '<action> <name> [nodes]',
    summary: `pause, drain, limit or resume ${what} in all launchers`,
    positionals: {
      action: { type: 'string', demandOption: true, choices: ACTIONS, describe: ACTIONS.join(', ') },
      name: { type: 'string', demandOption: true, describe: name },
      nodes: { type: 'string', describe: 'limit: how many nodes there may be at a time' },
    },
    options: {
      force: { type: 'boolean', default: false, describe: 'also for a name that no launcher has yet' },
      for: { type: 'string', requiresArg: true, value: 'TIME', describe: 'ends by itself after this time, e.g. 2h' },
      reason: { type: 'string', requiresArg: true, mayBeEmpty: true, describe: 'why; shown to whoever waits' },
      owner: { type: 'string', requiresArg: true, value: 'NAME', describe: 'who orders it; default: who calls' },
    },
    parse: (values) => parse(kind, values),
    run: async (context, args) => (await import('../controls/change-control.js')).changeControl(context, args),
  });
}

function parse(kind: ControlArguments['subject']['kind'], values: Values): ControlArguments {
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
  if (nodes === undefined || !/^\d+$/.test(nodes)) throw new UsageError('limit needs a number of nodes: limit NAME 10');
  return Number(nodes);
}
