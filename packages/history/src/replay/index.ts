export type { Window } from './demand.js';
export type { LabelFigures } from './figures.js';
export type { RecordedRequest, RecordedUse } from './past.js';
export { Past } from './past.js';
export type { Replay, ReplayedLabel, ReplayOptions } from './replay.js';
export { replay, ReplayError } from './replay.js';
export type { StandbyOfLabel, StandbyReplay } from './replay-standby.js';
export { replayStandby } from './replay-standby.js';
