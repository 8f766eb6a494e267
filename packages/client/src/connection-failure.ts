import { UnreachableError } from './errors.js';

/** How a server was called. */
export interface Called {
  readonly url: string;
  readonly isTls: boolean;
  /** Whether the certificates of authorities were named. */
  readonly hasCa: boolean;
  /** Whether it has answered before: its protocol is right then. */
  readonly hasAnswered: boolean;
}

/** An authority that is not known, by the names of OpenSSL. */
const UNTRUSTED = /^UNABLE_TO_(GET_ISSUER|VERIFY)|SELF_SIGNED|^CERT_(UNTRUSTED|SIGNATURE_FAILURE)$/;
const NAME_AUTHORITY = 'name the certificate of its authority (option ca, --ca FILE, or NODE_EXTRA_CA_CERTS)';
const OTHER_AUTHORITY =
  'the certificates that were named (option ca, --ca FILE, or NODEPOOL_CA) are not of its authority';

/** Codes of errors that a repetition does not mend, and what does. */
const PERMANENT: readonly (readonly [RegExp, string])[] = [
  [/ALTNAME_INVALID$/, 'write a name that its certificate has'],
  [/^CERT_HAS_EXPIRED$/, 'an operator has to renew its certificate'],
  [/^CERT_NOT_YET_VALID$/, 'is the clock of this computer right?'],
  [/CERT/, 'its certificate is not accepted'],
  [/^EPROTO$|^ERR_SSL/, 'it does not speak TLS as expected: does the address need another port?'],
  [/^HPE_/, 'it does not speak HTTP as expected: does the address need https:// or another port?'],
  [/^ENOTFOUND$/, 'there is no host of this name'],
  [/^EACCES$/, 'this user may not use the socket (socket-mode of webapp says who may)'],
];

/** Why a server could not be reached, in one line with the fix. */
export function connectionFailure(
  error: NodeJS.ErrnoException,
  { url, isTls, hasCa, hasAnswered }: Called,
): UnreachableError {
  const { code = '', message } = error;
  const fail = (why: string, isPermanent: boolean) =>
    new UnreachableError(`Cannot reach ${url}: ${why}`, isPermanent, { cause: error });
  if (/wrong version number|packet length too long/.test(message)) {
    return fail('it does not speak TLS: name the port that has TLS, or let its operator set tls of webapp', true);
  }
  const fix = permanentFix(code, hasCa);
  const advice =
    fix ?? (code === 'ECONNRESET' && !isTls && !hasAnswered ? 'if it speaks TLS, write https://' : undefined);
  const why = message.trim() || code;
  return fail(advice === undefined ? why : `${why}; ${advice}`, fix !== undefined);
}

function permanentFix(code: string, hasCa: boolean): string | undefined {
  if (UNTRUSTED.test(code)) return `its certificate is not trusted: ${hasCa ? OTHER_AUTHORITY : NAME_AUTHORITY}`;
  return PERMANENT.find(([pattern]) => pattern.test(code))?.[1];
}
