export { createOpenStackDriver, driver } from './driver.js';
export type { OpenStackDriverOptions } from './driver.js';
export type {
  OpenStackCloudImage,
  OpenStackDiskimage,
  OpenStackLabel,
  OpenStackPool,
  OpenStackProvider,
} from './config.js';
