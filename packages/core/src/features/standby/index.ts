import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { MakeFeature } from '../../launcher/nodes/feature.js';
import { loggingAs } from '../../launcher/state/context.js';
import { Levels } from './levels.js';
import { MissingNodes } from './missing-nodes.js';
import { RequestedByOthers } from './requested-by-others.js';
import { Standby } from './standby.js';
import { SurplusNodes } from './surplus-nodes.js';

/** Keeps free nodes: as many as `min-ready`, or what a feature says for a label with `standby`. */
export const standby: MakeFeature = ({ context, views, providers, features, serverClock }) => {
  const others = new RequestedByOthers(context, views);
  const levels = new Levels(context, views, others, features);
  const nodes = new Standby(loggingAs(context, LOGGER_NAMES.launcher), views, levels, features);
  const surplus = new SurplusNodes(context, providers, levels, serverClock);
  const missing = new MissingNodes(context, levels, views);
  return {
    freeNodes: {
      mostParked: (label) => levels.mostParked(label),
      isMissing: (label) => nodes.isMissing(label),
      check: (label) => nodes.check(label),
      explain: (label) => nodes.explain(label),
    },
    conditions: (nowMs) => missing.conditions(nowMs),
    reconsider: (occasion) => {
      nodes.reconsider(occasion);
      return surplus.reconsider(occasion);
    },
    stop: () => {
      nodes.stop();
      others.stop();
    },
  };
};
