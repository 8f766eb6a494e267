import { expect, it } from 'vitest';
import { connectionFailure, type Called } from './connection-failure.js';

const CALLED: Called = { url: 'https://nl01', isTls: true, hasCa: false, hasAnswered: false };

function failure(code: string, message: string, called: Partial<Called> = {}) {
  const error = connectionFailure(Object.assign(new Error(message), { code }), { ...CALLED, ...called });
  return [error.message.replace('Cannot reach https://nl01: ', ''), error.isPermanent];
}

it('says plainly that a port does not speak TLS, without the words of OpenSSL', () => {
  const message = 'write EPROTO 80:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../record.c:350:\n';

  expect(failure('EPROTO', message)).toEqual([
    'it does not speak TLS: name the port that has TLS, or let its operator set tls of webapp',
    true,
  ]);
  expect(failure('EPROTO', 'write EPROTO 80:error:0A000410:alert number 40:\n')).toEqual([
    'write EPROTO 80:error:0A000410:alert number 40:; it does not speak TLS as expected: does the address need another port?',
    true,
  ]);
});

it.each(['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'])(
  'asks for the certificate of the authority with %s, or says that the one named is wrong',
  (code) => {
    expect(failure(code, 'not trusted')).toEqual([
      'not trusted; its certificate is not trusted: name the certificate of its authority (option ca, --ca FILE, or NODE_EXTRA_CA_CERTS)',
      true,
    ]);
    expect(failure(code, 'not trusted', { hasCa: true })).toEqual([
      'not trusted; its certificate is not trusted: the certificates that were named (option ca, --ca FILE, or NODEPOOL_CA) are not of its authority',
      true,
    ]);
  },
);

it.each([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'write a name that its certificate has'],
  ['CERT_HAS_EXPIRED', 'an operator has to renew its certificate'],
  ['CERT_NOT_YET_VALID', 'is the clock of this computer right?'],
  ['CERT_REVOKED', 'its certificate is not accepted'],
  ['HPE_INVALID_CONSTANT', 'it does not speak HTTP as expected: does the address need https:// or another port?'],
])('%s: %s', (code, fix) => {
  expect(failure(code, 'refused')).toEqual([`refused; ${fix}`, true]);
});

it('may mend itself if the server is away', () => {
  expect(failure('ECONNREFUSED', 'connect ECONNREFUSED')).toEqual(['connect ECONNREFUSED', false]);
  expect(failure('ECONNRESET', 'socket hang up')).toEqual(['socket hang up', false]);
  expect(failure('ECONNRESET', 'socket hang up', { isTls: false })).toEqual([
    'socket hang up; if it speaks TLS, write https://',
    false,
  ]);
  expect(failure('ECONNRESET', 'socket hang up', { isTls: false, hasAnswered: true })).toEqual([
    'socket hang up',
    false,
  ]);
});
