import { isInternalRequestor } from '@nodepool/core/service';

/** Whether a request comes from outside the launchers. */
export function isDemand({ requestor }: { readonly requestor: string | null }): boolean {
  return !isInternalRequestor(requestor);
}
