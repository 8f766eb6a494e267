import { createHash, timingSafeEqual } from 'node:crypto';

/** The login that all clients on TCP must prove. It is not an identity for ACLs. */
export class Login {
  readonly #digest: Buffer;

  /** @param login - `user:password` */
  constructor(login: string) {
    this.#digest = digest(Buffer.from(login));
  }

  /** Whether digest credentials match, in constant time. */
  isProvedBy(scheme: string, credentials: Buffer): boolean {
    return scheme === 'digest' && timingSafeEqual(digest(credentials), this.#digest);
  }
}

function digest(text: Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}
