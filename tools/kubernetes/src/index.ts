export { ApiAccess, nameOf, type Answer, type Body } from './api.js';
export { ensureBuilt, programFolder } from './build.js';
export { ControlPlane, type ControlPlaneOptions } from './control-plane.js';
export { namesOf, StandInKubelet } from './stand-in-kubelet.js';
export { FakeKubernetes, FAKE_TOKEN, type FakeCall, type FakeKubernetesOptions } from './fake/server.js';
export type { PodFate } from './fake/cluster.js';
export { CONVERSATION, hold, type Heard, type Turn } from './conversation.js';
