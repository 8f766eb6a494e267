/**
 * The parts of node-zookeeper-client 1.1.3 this package builds on. The published typings describe other versions and
 * are wrong in places, so these are our own; `stock-contract.test.ts` holds the installed package to them.
 */
declare module 'node-zookeeper-client' {
  import type { EventEmitter } from 'node:events';
  import type ConnectionManager from 'node-zookeeper-client/lib/ConnectionManager.js';

  interface StockState {
    readonly name: string;
    readonly code: number;
  }

  interface StockAcl {
    readonly permission: number;
    readonly id: { readonly scheme: string; readonly id: string };
  }

  /** The client shell: keeps the state machine of the package and emits `state`. */
  interface Client extends EventEmitter {
    connectionManager: ConnectionManager;
    connect(): void;
    close(): void;
    addAuthInfo(scheme: string, auth: Buffer): void;
    getState(): StockState;
    getSessionId(): Buffer;
    onConnectionManagerState(state: number): void;
  }

  interface StockPackage {
    createClient(connectionString: string, options?: { sessionTimeout?: number }): Client;
    readonly ACL: { readonly OPEN_ACL_UNSAFE: readonly StockAcl[] };
    readonly State: {
      readonly DISCONNECTED: StockState;
      readonly SYNC_CONNECTED: StockState;
      readonly EXPIRED: StockState;
    };
    readonly Exception: {
      create(code: number, path?: string): Error & { code: number };
      readonly UNIMPLEMENTED: number;
      readonly CONNECTION_LOSS: number;
      readonly SESSION_EXPIRED: number;
      readonly AUTH_FAILED: number;
      readonly RUNTIME_INCONSISTENCY: number;
      readonly MARSHALLING_ERROR: number;
      readonly BAD_ARGUMENTS: number;
      readonly NO_NODE: number;
      readonly NO_AUTH: number;
      readonly BAD_VERSION: number;
      readonly NO_CHILDREN_FOR_EPHEMERALS: number;
      readonly NODE_EXISTS: number;
      readonly NOT_EMPTY: number;
      readonly INVALID_ACL: number;
    };
  }

  const stock: StockPackage;
  export default stock;
  export type { Client, StockState, StockAcl };
}

declare module 'node-zookeeper-client/lib/ConnectionManager.js' {
  import { EventEmitter } from 'node:events';

  class ConnectionManager extends EventEmitter {
    static readonly STATES: {
      readonly DISCONNECTED: 0;
      readonly CONNECTING: 1;
      readonly CONNECTED: 2;
      readonly CLOSING: -1;
      readonly CLOSED: -2;
      readonly SESSION_EXPIRED: -3;
      readonly AUTHENTICATION_FAILED: -4;
    };

    constructor(
      connectionString: string,
      options: { sessionTimeout: number; spinDelay: number },
      stateListener: (state: number) => void,
    );

    state: number;
    sessionTimeout: number;
    /** 8 bytes. */
    sessionId: Buffer;
    /** 16 bytes. */
    sessionPassword: Buffer;
    credentials: { scheme: string; auth: Buffer }[];
    setState(state: number): void;
    updateTimeout(sessionTimeout: number): void;
    connect(): void;
    close(): void;
    addAuthInfo(scheme: string, auth: Buffer): void;
    queue(request: object, callback?: (error: Error) => void): void;
    onPacketQueueReadable(): void;
  }
  export default ConnectionManager;
}
