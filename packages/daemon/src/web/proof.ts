import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiToken } from '@nodepool/core/config';
import { tokenProof } from '@nodepool/core/service';

/** A nonce is valid for one to two minutes. */
const NONCE_MS = 60_000;
const KEY = randomBytes(32);

const nonceOf = (period: number) => createHmac('sha256', KEY).update(String(period)).digest('hex');
const periodOf = (nowMs: number) => Math.floor(nowMs / NONCE_MS);

/** The challenge in `WWW-Authenticate` that asks for a proof. */
export function proofChallenge(nowMs: number): string {
  return `Nodepool-Proof nonce="${nonceOf(periodOf(nowMs))}"`;
}

/** Whether this `Authorization` proves for this path and query that its sender has one of the tokens. */
export function hasProof(
  header: string | undefined,
  { target, tokens, nowMs }: { target: string; tokens: readonly ApiToken[]; nowMs: number },
): boolean {
  const [, given] = /^Nodepool-Proof +([0-9a-f]{64})$/.exec(header ?? '') ?? [];
  if (given === undefined) return false;
  const nonces = [0, 1].map((back) => nonceOf(periodOf(nowMs) - back));
  const proofs = tokens.flatMap(({ token }) => nonces.map((nonce) => tokenProof(token, nonce, target)));
  return proofs.filter((proof) => timingSafeEqual(Buffer.from(proof), Buffer.from(given))).length > 0;
}
