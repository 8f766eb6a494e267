import { describeControl, newControl, removeControl, storeControl } from '@nodepool/zk-protocol';
import type { ControlKind, ControlMode, ControlSubject, ZooKeeper } from '@nodepool/zk-protocol';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { personName } from '../connection/who-am-i.js';
import { knownNames, meantText } from '../connection/known-names.js';

/** What `nodepool provider`, `pool`, `label` and `image` are asked. */
export interface ControlArguments {
  readonly subject: { readonly kind: Exclude<ControlKind, 'node'>; readonly name: string };
  readonly action: ControlMode | 'resume';
  readonly limit: number | null;
  /** Ends by itself after this time. */
  readonly forMs: number | undefined;
  readonly owner: string | undefined;
  readonly reason: string;
  /** Also for a name that is not known. */
  readonly force: boolean;
}

/** Pauses, drains, limits or resumes a provider, pool, label or image, in all launchers at once. */
export async function changeControl(context: CliContext, args: ControlArguments): Promise<void> {
  await withZooKeeper(context, async (zk) => {
    if (args.action === 'resume') await resume(context, zk, args);
    else await give(context, zk, args, args.action);
  });
}

const titleOf = ({ kind, name }: ControlSubject) => `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name}`;

/** A typing error must not look like an order that is in force. @throws CliError that names what was probably meant */
async function checkName(context: CliContext, zk: ZooKeeper, { subject, force }: ControlArguments): Promise<void> {
  const { kind, name } = subject;
  if (force) return;
  const known = await knownNames(context, zk, kind);
  if (known.includes(name)) return;
  throw new CliError(
    `No registered launcher and no configuration here has the ${kind} ${name}${meantText(name, known)}. ` +
      '--force gives an order for a name that is not known yet',
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
