import { format, type Logform } from 'winston';
import type { Clock } from '@nodepool/zk-protocol';

/** Output names of the standard fields. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  eventId: 'event_id',
  requestId: 'node_request',
  nodeId: 'node',
};

const wireOrder = format(({ timestamp, level, logger, message, ...fields }) => {
  const line: Logform.TransformableInfo = { time: timestamp, level, logger, message };
  for (const key in fields) {
    const wireName = WIRE_NAMES[key] ?? key;
    line[wireName in line ? `${wireName}_` : wireName] = fields[key];
  }
  return line;
});

/** One JSON object per line: time, level, logger, message, then the fields; an error as `{message, code, cause, stack}`. */
export const jsonFormat = (clock: Pick<Clock, 'now'>): Logform.Format =>
  format.combine(
    format.timestamp({ format: () => new Date(clock.now()).toISOString() }),
    wireOrder(),
    format.json({ deterministic: false }),
  );
