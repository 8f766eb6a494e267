import { createHmac } from 'node:crypto';

/**
 * Shows that one has a token without telling it: whoever listens at the other end learns nothing that serves elsewhere.
 * @param nonce - what the server has just asked with
 * @param target - path and query of the request, as they are sent: for others the proof is worth nothing
 */
export function tokenProof(token: string, nonce: string, target: string): string {
  return createHmac('sha256', token).update(`nodepool-proof\n${nonce}\n${target}`).digest('hex');
}
