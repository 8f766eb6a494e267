export {
  driver,
  openshiftDriver,
  openshiftPodsDriver,
  createKubernetesDriver,
  type KubernetesDriverOptions,
} from './driver.js';
export type { KubernetesProviderConfig } from './config.js';
export { createHttp, type Http, type HttpCall } from './http.js';
export { createCredentials, type Credentials, type Login } from './credentials.js';
export type { ApiWatchEvent } from './api.js';
