import type { ComponentRecord } from '@nodepool/zk-protocol';
import { mergeConditions, publishedConditions, type SharedCondition } from '@nodepool/core/service';
import { fetchComponents, type RecordSource } from '../connection/fetch-records.js';

/** Kinds of services that publish conditions. */
const KINDS = ['launcher', 'builder'];

/** The registered launchers and builders. */
export async function fetchServices(source: RecordSource): Promise<ComponentRecord[]> {
  return (await Promise.all(KINDS.map((kind) => fetchComponents(source, kind)))).flat();
}

/** What is wrong now, as all registered services have published it; errors first. */
export async function fetchConditions(source: RecordSource): Promise<SharedCondition[]> {
  return mergeConditions((await fetchServices(source)).map(publishedConditions));
}
