export type { EmbeddedServerInfo, StateDirSurroundings } from './state-dir.js';
export {
  defaultStateDir,
  isProcessRunning,
  readEmbeddedServerInfo,
  removeEmbeddedServerInfo,
  stateDirCandidates,
  SYSTEM_STATE_DIR,
  writeEmbeddedServerInfo,
} from './state-dir.js';
