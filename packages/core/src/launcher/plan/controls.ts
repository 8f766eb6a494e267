import { describeControl, type ControlRecord } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import { resumeStep } from '../../text/resume-step.js';
import { reason } from './candidates.js';
import type { PlannedRequest, PoolView, Reason, Verdict } from './types.js';

/** A pool, as far as operators' orders concern it. */
export type ControlledPool = Pick<PoolView, 'provider' | 'controls'> & {
  readonly pool: Pick<PoolConfig, 'name' | 'labels'>;
};

/** Whether an order names the pool or its provider. */
export function isAboutPool({ kind, name }: ControlRecord, { provider, pool }: ControlledPool): boolean {
  return (kind === 'provider' && name === provider) || (kind === 'pool' && name === `${provider}/${pool.name}`);
}

/** Whether an order concerns nodes of this label in the pool: it names the label, its image, the pool or the provider. */
export function isAboutLabel(control: ControlRecord, label: string, view: ControlledPool): boolean {
  if (isAboutPool(control, view)) return true;
  if (control.kind === 'label') return control.name === label;
  return control.kind === 'image' && view.pool.labels.get(label)?.diskimage === control.name;
}

/** Whether an order stops the whole pool. */
export function isPoolPaused(view: ControlledPool): boolean {
  return (view.controls ?? []).some((control) => control.mode !== 'limit' && isAboutPool(control, view));
}

/** The number of nodes that operators allow the pool and its provider; `Infinity` without such an order. */
export function ceilingsOf(view: ControlledPool): { readonly provider: number; readonly pool: number } {
  const least = (kind: ControlRecord['kind']) =>
    Math.min(...limitsOf(view).flatMap((control) => (control.kind === kind ? [control.limit ?? 0] : [])), Infinity);
  return { provider: least('provider'), pool: least('pool') };
}

/** The order that limits the nodes of the pool or the provider, in words; `undefined` without one. */
export function describeCeiling(view: ControlledPool, kind: 'provider' | 'pool'): string | undefined {
  const control = limitsOf(view).find((each) => each.kind === kind);
  return control && describeControl(control);
}

function limitsOf(view: ControlledPool): ControlRecord[] {
  return (view.controls ?? []).filter((control) => control.mode === 'limit' && isAboutPool(control, view));
}

/** Whether an operator keeps the pool from taking the request. As orders end, the request is deferred, not declined. */
export function judgeControls(request: Pick<PlannedRequest, 'labels'>, view: PoolView): Verdict | undefined {
  if (view.controls === undefined || view.controls.length === 0) return undefined;
  const found = findPause(request, view) ?? findTooMany(request, view);
  return found && { action: 'defer', reason: found };
}

function findPause({ labels }: Pick<PlannedRequest, 'labels'>, view: PoolView): Reason | undefined {
  const control = view.controls?.find(
    (each) => each.mode !== 'limit' && labels.some((label) => isAboutLabel(each, label, view)),
  );
  if (!control) return undefined;
  const { kind, name, owner, mode } = control;
  return reason(
    'paused-by-operator',
    `${kind} "${name}" is ${describeControl(control)}`,
    `another pool serves it, or: ${resumeStep(control)}`,
    { kind, name, mode, owner },
  );
}

function findTooMany({ labels }: Pick<PlannedRequest, 'labels'>, view: PoolView): Reason | undefined {
  if (!view.launches) return undefined;
  const countOf = (control: ControlRecord) => labels.filter((label) => isAboutLabel(control, label, view)).length;
  const limits = view.controls?.filter(({ mode }) => mode === 'limit');
  const control = limits?.find((each) => countOf(each) > (each.limit ?? 0));
  if (!control) return undefined;
  const { kind, name, owner, limit } = control;
  const needed = countOf(control);
  return reason(
    'limited-by-operator',
    `it needs ${needed} nodes, ${kind} "${name}" is ${describeControl(control)}`,
    `another pool serves it, or: ${resumeStep(control)}`,
    { kind, name, owner, limit: limit ?? 0, needed },
  );
}
