import { createHash, timingSafeEqual } from 'node:crypto';

/** What every client has to prove before it may do anything. Not an identity: no znode's ACL knows it. */
export class Login {
  readonly #digest: Buffer;

  /** @param login - `user:password` */
  constructor(login: string) {
    this.#digest = digest(Buffer.from(login));
  }

  /** Whether digest credentials are this login. Takes the same time for each wrong one. */
  isProvedBy(scheme: string, credentials: Buffer): boolean {
    return scheme === 'digest' && timingSafeEqual(digest(credentials), this.#digest);
  }
}

function digest(text: Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}
