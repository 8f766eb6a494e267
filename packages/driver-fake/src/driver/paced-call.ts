/** Makes a call to the cloud when its turn comes. @param name - for metrics, as openstack names its calls */
export type PacedCall = <T>(name: string, fn: (signal: AbortSignal) => Promise<T>, signal: AbortSignal) => Promise<T>;
