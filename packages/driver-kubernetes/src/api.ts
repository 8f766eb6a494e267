/** Metadata of any object. */
export interface ApiMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/** Any object. */
export interface ApiObject {
  readonly metadata: ApiMeta;
}

/** A condition of a status. */
export interface ApiCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A namespace. */
export interface ApiNamespace extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly ApiCondition[] };
}

/** Why a container does not run. */
export interface ApiContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: object;
  readonly terminated?: { readonly reason?: string; readonly message?: string; readonly exitCode?: number };
}

/** State of one container. */
export interface ApiContainerStatus {
  readonly name: string;
  readonly state?: ApiContainerState;
}

/** A container of a pod. */
export interface ApiContainer {
  readonly resources?: { readonly requests?: ApiQuantities; readonly limits?: ApiQuantities };
}

/** A pod. */
export interface ApiPod extends ApiObject {
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly ApiContainer[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly ApiCondition[];
    readonly containerStatuses?: readonly ApiContainerStatus[];
    readonly initContainerStatuses?: readonly ApiContainerStatus[];
  };
}

/** Amounts as Kubernetes writes them: `500m`, `2Gi`. */
export type ApiQuantities = Readonly<Record<string, string>>;

/** Limits of a namespace. */
export interface ApiResourceQuota extends ApiObject {
  readonly spec?: { readonly scopes?: readonly string[]; readonly scopeSelector?: object };
  readonly status?: { readonly hard?: ApiQuantities; readonly used?: ApiQuantities };
}

/** Defaults and limits of the pods of a namespace. */
export interface ApiLimitRange extends ApiObject {
  readonly spec: {
    readonly limits: readonly {
      readonly type: string;
      readonly max?: ApiQuantities;
      readonly default?: ApiQuantities;
      readonly defaultRequest?: ApiQuantities;
    }[];
  };
}

/** A list of objects, or one page of it. */
export interface ApiList<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Body of a refusal. */
export interface ApiStatus {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
}

/** A line of a watch. */
export interface ApiWatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

/** A rule of a role, or of a review. */
export interface ApiRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Answer to a review of one's own rules in a namespace. */
export interface ApiRulesReview {
  readonly status: { readonly incomplete?: boolean; readonly resourceRules?: readonly ApiRule[] };
}

/** A secret; data in base64. */
export interface ApiSecret extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Answer to a token request. */
export interface ApiToken {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}
