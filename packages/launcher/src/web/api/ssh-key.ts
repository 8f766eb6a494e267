/** Types of public keys that OpenSSH accepts in `authorized_keys`. */
const TYPES =
  /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)$/;
const MAX_LENGTH = 8_192;

/**
 * What is wrong with a public key, in a sentence; `undefined` if it is one line of `authorized_keys` without options. The type
 * inside of the key must be the one before it, so that nothing else can be put there.
 */
export function sshKeyProblem(key: string): string | undefined {
  if (key.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  if (/[^\x20-\x7e]/.test(key)) return 'it has control characters or others than ASCII, e.g. more than one line';
  const [type = '', data = ''] = key.split(' ');
  if (!TYPES.test(type)) return 'it does not begin with a type such as ssh-ed25519; options are not allowed';
  const bytes = Buffer.from(data, 'base64');
  if (bytes.toString('base64') !== data || bytes.length < 4) return 'its second word is no base64';
  const length = bytes.readUInt32BE(0);
  if (bytes.toString('latin1', 4, 4 + length) !== type) return `its data is no key of type ${type}`;
  return undefined;
}
