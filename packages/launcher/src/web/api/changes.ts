import {
  controlId,
  type ControlRecord,
  type NodeRecord,
  type RecordChange,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { WebhookEvent } from '@nodepool/core/config';
import { imageToApi, type ApiEvent } from '@nodepool/daemon';
import { controlToApi } from './controls.js';
import { nodeToApi, requestToApi } from './records.js';
import type { LauncherApiSources } from './sources.js';

type Emit = (event: ApiEvent) => void;

/**
 * Emits an event for each change in the caches and for each launch. Only the launcher that caused a change adds a notice,
 * so that each webhook is called once.
 * @returns unsubscribes
 */
export function followChanges(sources: LauncherApiSources, emit: Emit): () => void {
  const { runtime, activity } = sources;
  const unsubscribe = [
    runtime.nodes.onChange((change) => nodeChanged(sources, change, emit)),
    runtime.requests.onChange((change) => requestChanged(sources, change, emit)),
    runtime.onImageChange((image) => {
      const entry = runtime.images.get(image);
      emit({ type: 'image', id: image, data: () => (entry ? imageToApi(entry) : null) });
    }),
    followControls(sources, emit),
    activity.onLaunch((result, ms, { provider, az }) => {
      const data = { provider, az, result, seconds: ms / 1000 };
      const notice = result === 'ready' ? undefined : 'launch-failed';
      emit({ type: 'launch', id: provider, data: () => data, notice });
    }),
    runtime.events.on('requestEnded', ({ outcome, request }) => {
      if (outcome !== 'fulfilled') return;
      const after = runtime.requests.get(request.id) ?? request;
      emit({ type: 'request', id: request.id, data: () => requestToApi(after, null), notice: 'request-fulfilled' });
    }),
  ];
  return () => {
    for (const end of unsubscribe) end();
  };
}

function followControls({ runtime }: LauncherApiSources, emit: Emit): () => void {
  const byId = () => new Map(runtime.controls.map((control): [string, ControlRecord] => [controlId(control), control]));
  let before = byId();
  return runtime.events.on('ordersChanged', () => {
    const after = byId();
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const control = after.get(id);
      if (control !== before.get(id))
        emit({ type: 'control', id, data: () => (control ? controlToApi(control) : null) });
    }
    before = after;
  });
}

function isOwn({ runtime }: LauncherApiSources, launcherId: string | null | undefined): boolean {
  return runtime.poolStatus.some((pool) => pool.launcherId === launcherId);
}

function nodeChanged(sources: LauncherApiSources, { id, before, after }: RecordChange<NodeRecord>, emit: Emit): void {
  const { runtime, activity } = sources;
  activity.nodeChanged(before, after);
  const hasFailed = after?.state === 'failed' && before !== undefined && before.state !== 'failed';
  const notice = hasFailed && isOwn(sources, after.launcher) ? 'node-failed' : undefined;
  emit({ type: 'node', id, data: () => (after ? nodeToApi(after, runtime.nodes.contenders(id) > 0) : null), notice });
}

function requestChanged(
  sources: LauncherApiSources,
  { id, before, after }: RecordChange<RequestRecord>,
  emit: Emit,
): void {
  sources.activity.waits.requestChanged({ before, after }, sources.runtime.nodes);
  const hasFailed = after?.state === 'failed' && before !== undefined && before.state !== 'failed';
  const notice: WebhookEvent | undefined =
    hasFailed && isOwn(sources, after.declinedBy.at(-1)) ? 'request-failed' : undefined;
  emit({ type: 'request', id, data: () => (after ? requestToApi(after, null) : null), notice });
}
