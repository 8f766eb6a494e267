/** Status of an instance. `deleting`: still listed. */
export type InstanceStatus = 'building' | 'active' | 'stopping' | 'stopped' | 'starting' | 'error' | 'deleting';

/** An instance as the cloud lists it. Immutable: a change creates a new object. */
export interface CloudInstance {
  /** The cloud's own id. */
  readonly id: string;
  readonly name: string;
  readonly status: InstanceStatus;
  readonly metadata: Readonly<Record<string, string>>;
  readonly flavor: string;
  readonly cores: number;
  /** MiB. */
  readonly ram: number;
  readonly image: string;
  readonly az: string | null;
  /** Host name or address; `null` unless it is active. A name that contains `fake` is never contacted. */
  readonly address: string | null;
  /** Port of its SSH server, if it has one. */
  readonly port?: number | undefined;
  /** Host keys of its SSH server, each `<type> <base64>`. */
  readonly hostKeys?: readonly string[] | undefined;
  /** Why its status is `error`. */
  readonly fault?: string | undefined;
  readonly createdMs: number;
}

/** A planned transition of an instance. */
export type Transition = 'activate' | 'halt' | 'break' | 'vanish' | 'hide' | 'show' | 'remove' | 'return';

/** An instance with the internal state of the cloud, as stored on disk. */
export interface InstanceRecord {
  readonly instance: CloudInstance;
  /** Exists but is not listed. */
  readonly hidden?: boolean | undefined;
  /** Deleted, but will come back; does not count towards the quota. */
  readonly gone?: boolean | undefined;
  readonly next?: { readonly transition: Transition; readonly atMs: number } | undefined;
}

/** An uploaded image. */
export interface UploadedImage {
  readonly id: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The upload is incomplete; no instance can be launched from it. */
  readonly partial?: true | undefined;
}

/** A size of instance. */
export interface Flavor {
  readonly name: string;
  /** MiB. */
  readonly ram: number;
  readonly cores: number;
}

/** Order of an instance. */
export interface InstanceOrder {
  readonly name: string;
  /** Exact name of a flavor. */
  readonly flavor?: string | undefined;
  /** Minimum RAM in MiB; with it, `flavor` is a part of the name. */
  readonly minRam?: number | undefined;
  /** Id or name. */
  readonly image: string;
  readonly az: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A change of one instance; `null`: it is no longer listed. */
export interface InstanceEvent {
  readonly id: string;
  readonly instance: CloudInstance | null;
}

/** Kinds of failures, by the reaction of a client. */
export type FailureKind =
  'quota' | 'capacity' | 'unavailable' | 'reset' | 'rate-limited' | 'not-found' | 'invalid' | 'failed';

/** The cloud refused a call, or did not answer. */
export class CloudFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'CloudFailure';
    this.kind = kind;
  }
}
