import { describeControl, newControl, removeControl, storeControl } from '@nodepool/zk-protocol';
import type { ControlMode, ControlSubject, ZooKeeper } from '@nodepool/zk-protocol';
import { print, tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { fetchComponents } from '../connection/fetch-records.js';
import { personName } from '../connection/who-am-i.js';

/** What `nodepool provider`, `pool`, `label` and `image` are asked. */
export interface ControlArguments {
  readonly subject: ControlSubject;
  readonly action: ControlMode | 'resume';
  readonly limit: number | null;
  /** Ends by itself after this time. */
  readonly forMs: number | undefined;
  readonly owner: string | undefined;
  readonly reason: string;
}

/** Pauses, drains, limits or resumes a provider, pool, label or image, in all launchers at once. */
export async function changeControl(context: CliContext, args: ControlArguments): Promise<void> {
  await withZooKeeper(context, async (zk) => {
    if (args.action === 'resume') await resume(context, zk, args.subject);
    else await give(context, zk, args, args.action);
  });
}

const titleOf = ({ kind, name }: ControlSubject) => `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name}`;

async function resume(context: CliContext, zk: ZooKeeper, subject: ControlSubject): Promise<void> {
  if (await removeControl(zk, subject)) {
    print(`${titleOf(subject)} is back in service`);
    return;
  }
  const text = `${titleOf(subject)} is neither paused nor limited`;
  if (context.options.strict) throw new CliError(text);
  print(text);
}

async function give(context: CliContext, zk: ZooKeeper, args: ControlArguments, mode: ControlMode): Promise<void> {
  const { subject, limit, reason, forMs } = args;
  const nowMs = context.clock.now();
  const owner = args.owner ?? personName();
  const endTimeMs = forMs === undefined ? null : nowMs + forMs;
  const control = newControl({ ...subject, mode, limit, owner, reason, endTimeMs }, nowMs);
  await storeControl(zk, control);
  print(`${titleOf(subject)} is ${describeControl(control)}`);
  if (!(await isKnown(context, zk, subject))) {
    tell(`nodepool: no registered launcher and no configuration here knows the ${subject.kind} ${subject.name}`);
  }
}

/** Typing errors should be seen, but nothing keeps an operator from giving an order ahead of a configuration. */
async function isKnown(context: CliContext, zk: ZooKeeper, { kind, name }: ControlSubject): Promise<boolean> {
  const config = await loadIfPresent(context);
  if (kind === 'label' && config?.labels.has(name)) return true;
  if (kind === 'provider' && config?.providers.has(name)) return true;
  if (kind === 'image') return config?.diskimages.has(name) ?? true;
  const { isPoolComponent } = await import('@nodepool/zk-protocol');
  const pools = (await fetchComponents({ ...context, zk }, 'pool')).filter(isPoolComponent);
  return pools.some((pool) => {
    if (kind === 'label') return pool.supportedLabels.includes(name);
    return kind === 'provider' ? pool.providerName === name : `${pool.providerName}/${pool.name}` === name;
  });
}
