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
import { refuseLent } from './node-operations.js';
import type { LauncherApiSources } from './sources.js';

const MODE: JsonObject = { type: 'string', enum: [...CONTROL_MODES] };

/** Schema of an operator command. */
export const CONTROL_SCHEMA = record({
  ...{ kind: { type: 'string', enum: [...CONTROL_KINDS] }, name: TEXT, mode: MODE },
  limit: orNull({ ...WHOLE, description: 'Maximum number of nodes; null unless the mode is limit' }),
  ...{ owner: TEXT, reason: TEXT, created_time: TIME },
  end_time: orNull({ ...TIME, description: 'null: until an operator removes it' }),
});

/** Converts an operator command to its form in the API. */
export function controlToApi(control: ControlRecord): JsonObject {
  const { kind, name, mode, limit, owner, reason, createdTimeMs, endTimeMs } = control;
  const end = endTimeMs === null ? null : endTimeMs / 1000;
  return { kind, name, mode, limit, owner, reason, created_time: createdTimeMs / 1000, end_time: end };
}

const PATH_PARAMETERS = {
  kind: { type: 'string', description: `Kind of its subject: ${CONTROL_KINDS.join(', ')}` },
  name: {
    type: 'string',
    description: 'Name in the configuration; PROVIDER%2FPOOL for a pool, the id for a node',
  },
};

const COMMAND_BODY: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['mode'],
  properties: {
    mode: {
      ...MODE,
      description: 'pause, drain (also deletes unused ready nodes) or limit; for a node: hold, after its use',
    },
    limit: { type: 'integer', minimum: 0, description: 'Maximum number of nodes; for the mode limit' },
    seconds: { type: 'number', exclusiveMinimum: 0, description: 'The command expires after this time' },
    reason: { type: 'string', maxLength: 1_000, description: 'Shown to users whose requests wait' },
  },
};

/** Operations that list, give and remove operator commands. */
export function controlOperations(sources: LauncherApiSources): ApiOperation[] {
  const { zk, runtime } = sources;
  const path = '/controls/{kind}/{name}';
  const pathParameters = PATH_PARAMETERS;
  return [
    {
      ...{ id: 'listControls', method: 'GET', path: '/controls', summary: 'Operator commands in force' },
      ...{ answer: listOf(ref('Control')), handle: () => runtime.controls.map(controlToApi) },
    },
    {
      ...{ id: 'giveControl', method: 'POST', path, summary: 'Pause, drain or limit a subject', pathParameters },
      ...{ body: COMMAND_BODY, answer: ref('Control'), errors: { 409: 'A lease has the node to hold' } },
      async handle(call) {
        const control = commandOf(call, sources.clock.now());
        const node = control.kind === 'node' ? runtime.nodes.get(control.name) : undefined;
        if (node) refuseLent(node);
        await storeControl(zk, control);
        return controlToApi(control);
      },
    },
    {
      ...{ id: 'removeControl', method: 'DELETE', path, summary: 'Remove an operator command', pathParameters },
      ...{ answer: record({ kind: TEXT, name: TEXT }), errors: { 404: 'There is no such command' } },
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
  if (!known) throw new ApiError(404, 'unknown-kind', `Unknown kind "${kind}"; use one of ${CONTROL_KINDS.join(', ')}`);
  if (known === 'pool' && !/^[^/]+\/.+$/.test(name)) {
    throw new ApiError(400, 'bad-name', `A pool is named PROVIDER/POOL, got "${name}"`);
  }
  return { kind: known, name };
}

function commandOf(call: ApiCall, nowMs: number): ControlRecord {
  const { mode, limit, seconds, reason } = call.body as {
    mode: ControlMode;
    limit?: number;
    seconds?: number;
    reason?: string;
  };
  if ((mode === 'limit') !== (limit !== undefined)) {
    throw new ApiError(
      400,
      'bad-limit',
      '"limit", a number of nodes, is required for the mode limit and allowed for no other',
    );
  }
  const subject = subjectOf(call);
  if ((mode === 'hold') !== (subject.kind === 'node')) {
    throw new ApiError(400, 'bad-mode', 'The mode "hold" is for nodes, and nodes have no other mode');
  }
  if (mode === 'hold' && seconds === undefined) {
    throw new ApiError(400, 'bad-end', 'The mode "hold" needs "seconds", the duration of the hold');
  }
  const owner = call.actor ?? '';
  const endTimeMs = seconds === undefined ? null : nowMs + seconds * 1000;
  return newControl({ ...subject, mode, owner, limit: limit ?? null, reason: reason ?? '', endTimeMs }, nowMs);
}
