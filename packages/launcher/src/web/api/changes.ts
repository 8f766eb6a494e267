import {
  controlId,
  type ControlRecord,
  type NodeRecord,
  type RecordChange,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { imageToApi, type ApiEvent } from '@nodepool/daemon';
import { controlToApi } from './controls.js';
import { nodeToApi, requestToApi } from './records.js';
import type { LauncherApiSources } from './sources.js';

type Emit = (event: ApiEvent) => void;

/** Emits an event for each change in the caches and for each launch. @returns unsubscribes */
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
      emit({ type: 'launch', id: provider, data: () => data });
    }),
    runtime.events.on('requestEnded', ({ outcome, request }) => {
      if (outcome !== 'fulfilled') return;
      const after = runtime.requests.get(request.id) ?? request;
      emit({ type: 'request', id: request.id, data: () => requestToApi(after, null) });
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

function nodeChanged(sources: LauncherApiSources, { id, before, after }: RecordChange<NodeRecord>, emit: Emit): void {
  const { runtime, activity } = sources;
  activity.nodeChanged(before, after);
  emit({ type: 'node', id, data: () => (after ? nodeToApi(after, runtime.nodes.contenders(id) > 0) : null) });
}

function requestChanged(
  sources: LauncherApiSources,
  { id, before, after }: RecordChange<RequestRecord>,
  emit: Emit,
): void {
  sources.activity.waits.requestChanged({ before, after }, sources.runtime.nodes);
  emit({ type: 'request', id, data: () => (after ? requestToApi(after, null) : null) });
}
