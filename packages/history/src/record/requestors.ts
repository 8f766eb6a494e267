/** Prefix of the requestor of internal requests. */
const INTERNAL = 'NodePool:';
/** Requestors of the command line. */
const CLI = 'NodePool:cli:';

/** Whether a request comes from outside the launchers. */
export function isDemand({ requestor }: { readonly requestor: string | null }): boolean {
  return requestor?.startsWith(INTERNAL) !== true || requestor.startsWith(CLI);
}
