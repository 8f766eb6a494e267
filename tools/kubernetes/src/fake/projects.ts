import type { Stored, StoreEvent } from './store.js';

/** Who requests projects. */
const REQUESTER = 'openshift.io/requester';
const USER = 'nodepool';

/** The namespace of a request for a project, as the template of OpenShift makes it: without labels of the request. */
export function namespaceOfRequest({ metadata, displayName = '', description = '' }: Stored): Stored {
  const annotations = {
    'openshift.io/display-name': String(displayName),
    'openshift.io/description': String(description),
    [REQUESTER]: USER,
  };
  return { metadata: { name: metadata.name, annotations } };
}

/** A namespace as a project. */
export function projectOf(namespace: Stored): Stored {
  return { ...namespace, kind: 'Project', apiVersion: 'project.openshift.io/v1' };
}

/** Whether the account of the driver sees the project of a namespace: it requested it. */
export function isVisible({ metadata }: Stored): boolean {
  return metadata.annotations?.[REQUESTER] === USER;
}

/** The events with which a watch of projects begins: all that are there, if it begins at version 0. */
export function firstEvents(namespaces: readonly Stored[], version: number): StoreEvent[] {
  const all = version === 0 ? namespaces : [];
  return all.map((object) => ({ version: 0, kind: 'namespaces', type: 'ADDED', object }));
}
