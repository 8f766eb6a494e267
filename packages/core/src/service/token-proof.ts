import { createHmac } from 'node:crypto';

/**
 * Computes a proof that the sender of a request has an API token. The proof does not reveal the token. It does not name the
 * server: a server that receives the proof can pass it on to another server of the same token, for the same path.
 * @param nonce - from the server's challenge
 * @param target - path and query of the request, as sent; the proof is valid for no other
 */
export function tokenProof(token: string, nonce: string, target: string): string {
  return createHmac('sha256', token).update(`nodepool-proof\n${nonce}\n${target}`).digest('hex');
}
