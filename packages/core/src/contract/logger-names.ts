/**
 * Names under which the parts of a launcher log: those that logging files of Nodepool set levels for.
 */
export const LOGGER_NAMES = {
  /** The launcher as a whole: sessions, reloads, free nodes. */
  launcher: 'nodepool.NodePool',
  poolWorker: (provider: string, pool: string) => `nodepool.PoolWorker.${provider}-${pool}`,
  /** Work on one accepted request. */
  requestHandler: 'nodepool.driver.NodeRequestHandler',
  /** Nodes too old, requests and locks without an owner, leaked resources. */
  cleanup: 'nodepool.CleanupWorker',
  /** Nodes that are used or to be deleted. */
  deletedNodes: 'nodepool.DeletedNodeWorker',
  /** What a driver itself logs. */
  driver: (driver: string) => `nodepool.driver.${driver}`,
  /** What the base of state-machine drivers does for a provider. */
  stateMachine: (provider: string) => `nodepool.StateMachineProvider.${provider}`,
  stateMachineLaunch: (provider: string) => `nodepool.StateMachineNodeLauncher.${provider}`,
  stateMachineDeletion: (provider: string) => `nodepool.StateMachineNodeDeleter.${provider}`,
} as const;
