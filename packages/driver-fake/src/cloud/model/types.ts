/** Where an instance is in its life. `deleting`: still listed, about to go. */
export type InstanceStatus = 'building' | 'active' | 'error' | 'deleting';

/** An instance as the cloud shows it. Immutable: a change makes a new object. */
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
  /** Host or address to reach it at; `null` until it is active. A name with `fake` in it is never contacted. */
  readonly address: string | null;
  /** Where its SSH server listens; missing for instances without one. */
  readonly port?: number | undefined;
  /** `<type> <base64>` each; missing for instances without an SSH server. */
  readonly hostKeys?: readonly string[] | undefined;
  /** Why its status is `error`. */
  readonly fault?: string | undefined;
  readonly createdMs: number;
}

/** What the cloud will do with an instance next, of its own accord. */
export type Transition = 'activate' | 'break' | 'vanish' | 'hide' | 'show' | 'remove' | 'return';

/** An instance with what only the cloud knows. This is what is kept on disk. */
export interface InstanceRecord {
  readonly instance: CloudInstance;
  /** In the cloud, but not shown to anybody. */
  readonly hidden?: boolean | undefined;
  /** Does not count for quota: it is gone, but will come back. */
  readonly gone?: boolean | undefined;
  readonly next?: { readonly transition: Transition; readonly atMs: number } | undefined;
}

/** An uploaded image. */
export interface UploadedImage {
  readonly id: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The cloud does not have all of its data; nothing can be launched from it. */
  readonly partial?: true | undefined;
}

/** A size of instance. */
export interface Flavor {
  readonly name: string;
  /** MiB. */
  readonly ram: number;
  readonly cores: number;
}

/** What to create. */
export interface InstanceOrder {
  readonly name: string;
  /** Name of a flavor, exactly. */
  readonly flavor?: string | undefined;
  /** Smallest RAM in MiB; with it `flavor` is a part of the name. */
  readonly minRam?: number | undefined;
  /** Id or name. */
  readonly image: string;
  readonly az: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A change of one instance; `null`: it is not there, or not shown, any more. */
export interface InstanceEvent {
  readonly id: string;
  readonly instance: CloudInstance | null;
}

/** Whatever can be refused, sorted by what a client does about it. */
export type FailureKind =
  'quota' | 'capacity' | 'unavailable' | 'reset' | 'rate-limited' | 'not-found' | 'invalid' | 'failed';

/** The cloud says no. */
export class CloudFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'CloudFailure';
    this.kind = kind;
  }
}
