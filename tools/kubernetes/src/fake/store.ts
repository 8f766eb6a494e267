import { randomUUID } from 'node:crypto';

/** Metadata of a stored object. */
export interface Meta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  /** What it is deleted with. */
  ownerReferences?: { readonly uid: string }[];
}

/** A stored object. */
export interface Stored {
  kind?: string;
  apiVersion?: string;
  metadata: Meta;
  [key: string]: unknown;
}

/** A change of an object, as watches report it. */
export interface StoreEvent {
  readonly version: number;
  /** Plural, as in paths. */
  readonly kind: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Stored;
}

/** Objects by kind, namespace and name, with the history that watches continue from. */
export class Store {
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #history: StoreEvent[] = [];
  #version = 1;
  /** Versions up to this one are forgotten. */
  #oldest = 0;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get version(): number {
    return this.#version;
  }

  get(kind: string, namespace: string | undefined, name: string): Stored | undefined {
    return this.#kind(kind).get(keyOf(namespace, name));
  }

  /** All objects of a kind. @param namespace - default: of all */
  list(kind: string, namespace?: string): Stored[] {
    const all = [...this.#kind(kind).values()];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  create(kind: string, object: Stored): Stored {
    const creationTimestamp = new Date(this.#now()).toISOString().replace(/\.\d+/, '');
    const stored = { ...object, metadata: { ...object.metadata, uid: randomUUID(), creationTimestamp } };
    return this.#store(kind, stored, 'ADDED');
  }

  update(kind: string, object: Stored, change: Partial<Stored>): Stored {
    const { name, namespace } = object.metadata;
    const present = this.get(kind, namespace, name) ?? object;
    return this.#store(
      kind,
      { ...present, ...change, metadata: { ...present.metadata, ...change.metadata } },
      'MODIFIED',
    );
  }

  remove(kind: string, { metadata }: Stored): void {
    const present = this.get(kind, metadata.namespace, metadata.name);
    if (present?.metadata.uid !== metadata.uid || !present) return;
    this.#kind(kind).delete(keyOf(metadata.namespace, metadata.name));
    this.#report(
      kind,
      { ...present, metadata: { ...present.metadata, resourceVersion: String(++this.#version) } },
      'DELETED',
    );
  }

  /** Changes after a version; `undefined`: they are forgotten. */
  since(version: number): readonly StoreEvent[] | undefined {
    if (version < this.#oldest) return undefined;
    return this.#history.filter((event) => event.version > version);
  }

  /** Forgets all changes so far, as etcd does after five minutes. */
  compact(): void {
    this.#oldest = ++this.#version;
    this.#history = [];
  }

  /** Calls the listener with each change. @returns a function that removes it */
  onEvent(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #store(kind: string, object: Stored, type: 'ADDED' | 'MODIFIED'): Stored {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.#kind(kind).set(keyOf(stored.metadata.namespace, stored.metadata.name), stored);
    this.#report(kind, stored, type);
    return stored;
  }

  #report(kind: string, object: Stored, type: StoreEvent['type']): void {
    const event = { version: this.#version, kind, type, object };
    this.#history.push(event);
    for (const listener of [...this.#listeners]) listener(event);
  }

  #kind(kind: string): Map<string, Stored> {
    const known = this.#objects.get(kind) ?? new Map<string, Stored>();
    this.#objects.set(kind, known);
    return known;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** Whether an object has all labels of a selector `a=b,c=d`. */
export function isSelected({ metadata }: Stored, selector: string | null): boolean {
  if (!selector) return true;
  return selector.split(',').every((part) => {
    const [key = '', value = ''] = part.split('=');
    return metadata.labels?.[key] === value;
  });
}
