import { listOf, orNull, record, ref, TEXT, TIME, WHOLE } from '@nodepool/daemon';
import type { StandbyCurve } from '@nodepool/history';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ApiPart } from './sources.js';

const SCHEMAS: ApiPart['schemas'] = {
  Standby: record({
    ...{ label: TEXT, nodes: { ...WHOLE, description: 'Standby nodes to keep now' }, reason: TEXT },
    is_fallback: { type: 'boolean', description: 'Whether min-ready applies, as too little is known' },
    slots: {
      ...listOf(
        record({
          time: TIME,
          kept: { ...orNull(WHOLE), description: 'The most standby nodes to keep; null: not known' },
          needed: {
            ...orNull(WHOLE),
            description: 'Standby nodes with which no request would have waited; null: not counted',
          },
        }),
      ),
      description: 'Quarters of an hour of the last day',
    },
  }),
};

/** The operation that shows how standby nodes follow demand. @param curves - the last day of each label with `standby` */
export function standbyApi(curves: () => readonly StandbyCurve[]): ApiPart {
  return {
    schemas: SCHEMAS,
    operations: [
      {
        ...{ id: 'listStandby', method: 'GET', path: '/standby' },
        summary: 'Labels with standby: nodes to keep and demand of the last day, as this launcher counted it',
        answer: listOf(ref('Standby')),
        handle: () => curves().map(curveToApi),
      },
    ],
  };
}

function curveToApi({ label, nodes, reason, isFallback, slots }: StandbyCurve): JsonObject {
  return {
    ...{ label, nodes, reason, is_fallback: isFallback },
    slots: slots.map(({ beginMs, kept, needed }) => ({
      ...{ time: beginMs / 1000, kept: kept ?? null, needed: needed ?? null },
    })),
  };
}
