import { ConfigError, isNodepoolError, type JsonObject } from '@nodepool/core';
import { DESCRIPTION, descriptionOf } from './ownership.js';

/** How the namespaces of nodes are made, found and deleted: as themselves, or as projects of OpenShift. */
export interface SpaceApi {
  readonly path: string;
  /** Plural, for paths and names of calls. */
  readonly kind: string;
  /** Plural of what is created. */
  readonly created: string;
  /** Body of a creation. @param body - of the namespace */
  creation(body: JsonObject): JsonObject;
  /** Body of a change. @param meta - labels and annotations */
  change(meta: JsonObject): JsonObject;
  /** Whether objects have labels that can be searched for. */
  readonly hasLabels: boolean;
  /** Version from which all watches begin, as they cannot continue; `undefined`: they can. */
  readonly watchVersion: string | undefined;
  /**
   * The server ends a watch after this time, so that a longer silence means a lost connection: a server that was started again
   * sends no bookmarks until the first change.
   */
  readonly watchSeconds: number;
  /** Whether an error means that the object does not exist. */
  isMissing(error: unknown): boolean;
}

/** API group of projects. */
export const PROJECT_GROUP = 'project.openshift.io';

const isNotFound = (error: unknown) => isNodepoolError(error, 'NODEPOOL_NOT_FOUND');

/** Namespaces of Kubernetes. */
export const NAMESPACES: SpaceApi = {
  ...{ path: 'api/v1', kind: 'namespaces', created: 'namespaces', hasLabels: true },
  ...{ watchVersion: undefined, watchSeconds: 90, isMissing: isNotFound },
  creation: (body) => body,
  change: (metadata) => ({ metadata }),
};

/**
 * Projects of OpenShift, for accounts that may request projects and do nothing else in the cluster:
 * - OpenShift makes the namespace from a template, which takes no labels, so the tags of a node are in the description.
 * - Lists and watches show the projects of the account alone. A watch sends no bookmarks, and begins with all projects or none.
 * - What does not exist is forbidden.
 */
export const PROJECTS: SpaceApi = {
  ...{ path: 'apis/project.openshift.io/v1', kind: 'projects', created: 'projectrequests', hasLabels: false },
  ...{ watchVersion: '0', watchSeconds: 60 },
  isMissing: (error) => isNotFound(error) || isForbidden(error),
  creation: ({ metadata }) => {
    const { name, annotations } = metadata as { name: string; annotations: Record<string, string> };
    return {
      ...{ apiVersion: 'project.openshift.io/v1', kind: 'ProjectRequest', metadata: { name } },
      ...{ displayName: `Nodepool: ${name}`, description: descriptionOf(annotations) },
    };
  },
  change: ({ annotations }) => ({
    metadata: { annotations: { [DESCRIPTION]: descriptionOf(annotations as Record<string, string>) } },
  }),
};

/** Whether a permission is missing. */
export function isForbidden(error: unknown): boolean {
  return error instanceof ConfigError && error.reason === 'Forbidden';
}
