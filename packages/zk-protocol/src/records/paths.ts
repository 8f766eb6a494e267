import { NodepoolError } from '../base/errors.js';
import type { LauncherId, NodeId, RequestId } from './types.js';

/** Parent of all our znodes. */
export const NODEPOOL_ROOT = '/nodepool';
/** Parent of all nodes. */
export const NODES_ROOT = '/nodepool/nodes';
/** Parent of all requests. */
export const REQUESTS_ROOT = '/nodepool/requests';
/** Parent of the lock directories of requests, which are not below the requests. */
export const REQUEST_LOCKS_ROOT = '/nodepool/requests-lock';
/** Parent of all images. */
export const IMAGES_ROOT = '/nodepool/images';
/** Parent of the directories of registered processes and pools. */
export const COMPONENTS_ROOT = '/nodepool/components';
/** Parent of registrations of launchers that predate the component registry. */
export const LEGACY_LAUNCHERS_ROOT = '/nodepool/launchers';
/** Parent of operator controls, `<kind>/<name>` each. Our addition; Zuul and Nodepool ignore it. */
export const CONTROLS_ROOT = '/nodepool/controls';
/** Parent of the leases of the web API. Our addition; Zuul and Nodepool ignore it. */
export const LEASES_ROOT = '/nodepool/leases';
/** Where launchers compare their clocks and store the time that they agree about: {@link LEASES_ROOT}, as in all releases. */
export const AGREED_TIME_PATH = '/nodepool/leases';
/** Parent of the numbers that limit the nodes of each token. Our addition; Zuul and Nodepool ignore it. */
export const LEASE_SLOTS_ROOT = '/nodepool/lease-slots';
/** Parent of the tokens for leases. Our addition; Zuul and Nodepool ignore it. */
export const LEASE_TOKENS_ROOT = '/nodepool/lease-tokens';
/** Random id of the database, created once; see `ensureDatabaseId`. Our addition; Zuul and Nodepool ignore it. */
export const DATABASE_ID_PATH = '/nodepool/database-id';
/** Lock directory of the election of the launcher that reports statistics. */
export const STATS_ELECTION_PATH = '/nodepool/elections/stats';

/** Name of a lock directory that is a child of the locked record. */
const LOCK = 'lock';

/** Create path of a node; the server appends the id. */
export const NODE_CREATE_PATH = '/nodepool/nodes/';

/** Path of a node's record. */
export const nodePath = (id: NodeId): string => `${NODES_ROOT}/${id}`;
/** Path of a node's lock directory. */
export const nodeLockPath = (id: NodeId): string => `${NODES_ROOT}/${id}/lock`;
/** Path of a request's record. */
export const requestPath = (id: RequestId): string => `${REQUESTS_ROOT}/${id}`;
/** Path of a request's lock directory. */
export const requestLockPath = (id: RequestId): string => `${REQUEST_LOCKS_ROOT}/${id}`;

/** Create path of a request; the server appends the number. Priorities have at least three digits, as in Zuul. */
export const requestCreatePath = (priority: number): string => `${REQUESTS_ROOT}/${String(priority).padStart(3, '0')}-`;

/** Path of an image, a directory without a body. */
export const imagePath = (image: string): string => `${IMAGES_ROOT}/${part(image, 'image')}`;
/** Path of the record whose existence pauses builds of an image. */
export const imagePausePath = (image: string): string => `${imagePath(image)}/pause`;
/** Path of the record whose existence requests a build of an image. */
export const imageBuildRequestPath = (image: string): string => `${imagePath(image)}/request-build`;
/** Parent of an image's builds. */
export const buildsPath = (image: string): string => `${imagePath(image)}/builds`;
/** Lock that allows one build at a time per image. */
export const imageBuildLockPath = (image: string): string => `${buildsPath(image)}/lock`;
/** Path of a build's record. */
export const buildPath = (image: string, buildId: string): string => `${buildsPath(image)}/${part(buildId, 'build')}`;
/** Lock held while a build is marked for deletion. */
export const buildLockPath = (image: string, buildId: string): string => `${buildPath(image, buildId)}/lock`;
/** Parent of the providers to which a build was uploaded. */
export const buildProvidersPath = (image: string, buildId: string): string => `${buildPath(image, buildId)}/providers`;
/** Directory of a build's uploads to one provider. */
export const buildProviderPath = (image: string, buildId: string, provider: string): string =>
  `${buildProvidersPath(image, buildId)}/${part(provider, 'provider')}`;
/** Parent of a build's uploads to one provider; with a trailing `/`, the create path of an upload. */
export const uploadsPath = (image: string, buildId: string, provider: string): string =>
  `${buildProviderPath(image, buildId, provider)}/images`;
/** Lock that allows one upload at a time per build and provider. */
export const uploadLockPath = (image: string, buildId: string, provider: string): string =>
  `${uploadsPath(image, buildId, provider)}/lock`;
/** Path of an upload's record. */
export const uploadPath = (image: string, buildId: string, provider: string, uploadId: string): string =>
  `${uploadsPath(image, buildId, provider)}/${part(uploadId, 'upload')}`;
/** Lock held while an upload is deleted. */
export const uploadNumberLockPath = (image: string, buildId: string, provider: string, uploadId: string): string =>
  `${uploadPath(image, buildId, provider, uploadId)}/lock`;

/** Directory of one kind of component. */
export const componentsPath = (kind: string): string => `${COMPONENTS_ROOT}/${part(kind, 'component kind')}`;
/** Create path of a component; the server appends the number directly. */
export const componentCreatePath = (kind: string, hostname: string): string =>
  `${componentsPath(kind)}/${part(hostname, 'host name')}`;
/** Path of a registered component's record. */
export const componentPath = (kind: string, id: string): string => `${componentsPath(kind)}/${part(id, 'component')}`;
/** Path of the registration of a launcher that predates the component registry. */
export const legacyLauncherPath = (id: LauncherId): string => `${LEGACY_LAUNCHERS_ROOT}/${part(id, 'launcher')}`;

/** Rejects names, which come from the configuration, that would lead to another path. */
function part(name: string, what: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !name.includes('/')) return name;
  throw new NodepoolError(
    'NODEPOOL_PATH',
    `${what} name ${JSON.stringify(name)} cannot be part of a ZooKeeper path: it must not be empty, "." or "..", or contain "/"`,
  );
}

/** Kind of a path. `other` is any path that only structures the tree. */
export type PathShape =
  | { shape: 'node'; id: NodeId }
  | { shape: 'node-lock'; id: NodeId }
  | { shape: 'node-lock-entry'; id: NodeId; entry: string }
  | { shape: 'request'; id: RequestId }
  | { shape: 'request-lock'; id: RequestId }
  | { shape: 'request-lock-entry'; id: RequestId; entry: string }
  | { shape: 'image'; image: string }
  | { shape: 'pause'; image: string }
  | { shape: 'build-request'; image: string }
  | { shape: 'build'; image: string; buildId: string }
  | { shape: 'upload'; image: string; buildId: string; provider: string; uploadId: string }
  | { shape: 'component'; kind: string; id: string }
  | { shape: 'legacy-launcher'; id: LauncherId }
  | { shape: 'other' };

const OTHER: PathShape = { shape: 'other' };

/** Classifies a path without chroot. */
export function classifyPath(path: string): PathShape {
  const [empty, root, tree, ...parts] = path.split('/');
  if (empty !== '' || root !== 'nodepool' || parts.length === 0 || parts.includes('')) return OTHER;
  switch (tree) {
    case 'nodes':
      return classifyNode(parts);
    case 'requests':
      return parts.length === 1 && parts[0] !== LOCK ? { shape: 'request', id: parts[0] as RequestId } : OTHER;
    case 'requests-lock':
      return classifyRequestLock(parts);
    case 'images':
      return classifyImage(parts);
    case 'components':
      return parts.length === 2 ? { shape: 'component', kind: parts[0] as string, id: parts[1] as string } : OTHER;
    case 'launchers':
      return parts.length === 1 ? { shape: 'legacy-launcher', id: parts[0] as LauncherId } : OTHER;
    default:
      return OTHER;
  }
}

function classifyNode(parts: string[]): PathShape {
  const id = parts[0] as NodeId;
  if (parts.length === 1) return parts[0] === LOCK ? OTHER : { shape: 'node', id };
  if (parts[1] !== LOCK) return OTHER;
  if (parts.length === 2) return { shape: 'node-lock', id };
  return parts.length === 3 ? { shape: 'node-lock-entry', id, entry: parts[2] as string } : OTHER;
}

function classifyRequestLock(parts: string[]): PathShape {
  const id = parts[0] as RequestId;
  if (parts.length === 1) return { shape: 'request-lock', id };
  return parts.length === 2 ? { shape: 'request-lock-entry', id, entry: parts[1] as string } : OTHER;
}

function classifyImage(parts: string[]): PathShape {
  const [image = '', second, buildId = '', providers, provider = '', images, uploadId = ''] = parts;
  if (parts.at(-1) === LOCK) return OTHER;
  if (parts.length === 1) return { shape: 'image', image };
  if (parts.length === 2 && second === 'pause') return { shape: 'pause', image };
  if (parts.length === 2 && second === 'request-build') return { shape: 'build-request', image };
  if (second !== 'builds') return OTHER;
  if (parts.length === 3) return { shape: 'build', image, buildId };
  if (parts.length === 7 && providers === 'providers' && images === 'images') {
    return { shape: 'upload', image, buildId, provider, uploadId };
  }
  return OTHER;
}

/** The last part of a path. */
export function lastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
