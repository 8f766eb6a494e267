/** Creates pods in namespaces that exist. */
export { openshiftPodsDriver as driver } from '@nodepool/driver-kubernetes';
