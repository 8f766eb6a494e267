import {
  CONTROL_KINDS,
  CONTROL_MODES,
  newControl,
  removeControl,
  storeControl,
  type ControlMode,
  type ControlRecord,
  type ControlSubject,
  type JsonObject,
} from '@nodepool/zk-protocol';
import {
  ApiError,
  listOf,
  orNull,
  record,
  ref,
  TEXT,
  TIME,
  WHOLE,
  type ApiCall,
  type ApiOperation,
} from '@nodepool/daemon';
import type { LauncherApiSources } from './sources.js';

const MODE: JsonObject = { type: 'string', enum: [...CONTROL_MODES] };

/** Schema of an order. */
export const CONTROL_SCHEMA = record({
  ...{ kind: { type: 'string', enum: [...CONTROL_KINDS] }, name: TEXT, mode: MODE },
  limit: orNull({ ...WHOLE, description: 'Nodes at a time; null unless the mode is limit' }),
  ...{ owner: TEXT, reason: TEXT, created_time: TIME },
  end_time: orNull({ ...TIME, description: 'null: until somebody takes it back' }),
});

/** An order as the API shows it. */
export function controlToApi(control: ControlRecord): JsonObject {
  const { kind, name, mode, limit, owner, reason, createdTimeMs, endTimeMs } = control;
  const end = endTimeMs === null ? null : endTimeMs / 1000;
  return { kind, name, mode, limit, owner, reason, created_time: createdTimeMs / 1000, end_time: end };
}

const PATH_PARAMETERS = {
  kind: { type: 'string', description: `What it is about: ${CONTROL_KINDS.join(', ')}` },
  name: {
    type: 'string',
    description: 'Name as in the configuration; of a pool PROVIDER/POOL, the slash as %2F; of a node its id',
  },
};

const ORDER_BODY: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['mode'],
  properties: {
    mode: {
      ...MODE,
      description: 'pause, drain (deletes unused ready nodes, too), limit; for a node: hold, once its use is over',
    },
    limit: { type: 'integer', minimum: 0, description: 'Nodes at a time; for the mode limit' },
    seconds: { type: 'number', exclusiveMinimum: 0, description: 'It ends by itself after this time' },
    reason: { type: 'string', maxLength: 1_000, description: 'Shown to those who wait' },
  },
};

/** Orders of operators: what is in force, giving one, taking one back. */
export function controlOperations(sources: LauncherApiSources): ApiOperation[] {
  const { zk, runtime } = sources;
  const path = '/controls/{kind}/{name}';
  const pathParameters = PATH_PARAMETERS;
  return [
    {
      ...{ id: 'listControls', method: 'GET', path: '/controls', summary: 'Orders of operators that are in force' },
      ...{ answer: listOf(ref('Control')), handle: () => runtime.controls.map(controlToApi) },
    },
    {
      ...{ id: 'giveControl', method: 'POST', path, summary: 'Pause, drain or limit something', pathParameters },
      ...{ body: ORDER_BODY, answer: ref('Control') },
      async handle(call) {
        const control = orderOf(call, sources.clock.now());
        await storeControl(zk, control);
        return controlToApi(control);
      },
    },
    {
      ...{ id: 'removeControl', method: 'DELETE', path, summary: 'Take an order back', pathParameters },
      ...{ answer: record({ kind: TEXT, name: TEXT }), errors: { 404: 'There is no such order' } },
      async handle(call) {
        const subject = subjectOf(call);
        if (await removeControl(zk, subject)) return { ...subject };
        throw new ApiError(
          404,
          'unknown-control',
          `The ${subject.kind} "${subject.name}" is neither paused nor limited`,
        );
      },
    },
  ];
}

function subjectOf({ path: { kind, name = '' } }: ApiCall): ControlSubject {
  const known = CONTROL_KINDS.find((each) => each === kind);
  if (!known)
    throw new ApiError(404, 'unknown-kind', `There is no "${kind}" to control, only ${CONTROL_KINDS.join(', ')}`);
  if (known === 'pool' && !/^[^/]+\/.+$/.test(name)) {
    throw new ApiError(400, 'bad-name', `A pool is named PROVIDER/POOL, got "${name}"`);
  }
  return { kind: known, name };
}

function orderOf(call: ApiCall, nowMs: number): ControlRecord {
  const { mode, limit, seconds, reason } = call.body as {
    mode: ControlMode;
    limit?: number;
    seconds?: number;
    reason?: string;
  };
  if ((mode === 'limit') !== (limit !== undefined)) {
    throw new ApiError(400, 'bad-limit', 'A limit needs "limit", a number of nodes; other modes take none');
  }
  const subject = subjectOf(call);
  if ((mode === 'hold') !== (subject.kind === 'node')) {
    throw new ApiError(400, 'bad-mode', 'A node is ordered to "hold", and nothing else is');
  }
  if (mode === 'hold' && seconds === undefined) {
    throw new ApiError(400, 'bad-end', 'An order to hold a node needs "seconds": a hold has an end');
  }
  const owner = call.actor ?? '';
  const endTimeMs = seconds === undefined ? null : nowMs + seconds * 1000;
  return newControl({ ...subject, mode, owner, limit: limit ?? null, reason: reason ?? '', endTimeMs }, nowMs);
}
