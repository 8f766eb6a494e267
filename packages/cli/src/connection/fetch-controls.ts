import { CONTROL_KINDS, CONTROLS_ROOT, decodeControl, isInForce } from '@nodepool/zk-protocol';
import type { ControlRecord } from '@nodepool/zk-protocol';
import { ifPresent, mapPipelined } from './fetch-records.js';
import type { RecordSource } from './fetch-records.js';

/** Orders of operators that are in force, by kind and name. */
export async function fetchControls({ zk, clock, logger }: RecordSource): Promise<ControlRecord[]> {
  const ids = await mapPipelined(CONTROL_KINDS, async (kind) => {
    const names = (await ifPresent(zk.getChildren(`${CONTROLS_ROOT}/${kind}`))) ?? [];
    return names.sort().map((name) => `${kind}/${name}`);
  });
  const controls = await mapPipelined(ids.flat(), async (id) => {
    const found = await ifPresent(zk.getData(`${CONTROLS_ROOT}/${id}`));
    try {
      return found && decodeControl(id, found.data, found.stat);
    } catch (error) {
      logger.warn('Cannot read a record', { path: `${CONTROLS_ROOT}/${id}`, error });
      return undefined;
    }
  });
  return controls.filter((control) => control !== undefined).filter((control) => isInForce(control, clock.now()));
}
