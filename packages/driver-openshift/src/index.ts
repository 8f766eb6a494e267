/** Creates projects of OpenShift, and pods in them. */
export { openshiftDriver as driver } from '@nodepool/driver-kubernetes';
