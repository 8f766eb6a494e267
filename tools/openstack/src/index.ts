export { AdminApi, textOf } from './admin-api.js';
export type { ApiObject, Caller } from './admin-api.js';
export { OpenStack } from './openstack.js';
export type { OpenStackOptions } from './openstack.js';
export { PACKAGES } from './packages.js';
export type { QuotaName } from './provision.js';
