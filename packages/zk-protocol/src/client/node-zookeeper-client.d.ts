/**
 * The parts of node-zookeeper-client 1.1.3 this package builds on. The published typings describe other versions and
 * are wrong in places, so these are our own; `stock-contract.test.ts` holds the installed package to them.
 */
declare module 'node-zookeeper-client' {
  interface StockAcl {
    readonly permission: number;
    readonly id: { readonly scheme: string; readonly id: string };
  }

  interface StockPackage {
    readonly ACL: { readonly OPEN_ACL_UNSAFE: readonly StockAcl[] };
    readonly Event: {
      readonly NODE_CREATED: number;
      readonly NODE_DELETED: number;
      readonly NODE_DATA_CHANGED: number;
      readonly NODE_CHILDREN_CHANGED: number;
    };
    readonly Exception: {
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
  export type { StockAcl };
}
