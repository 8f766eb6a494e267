/** Types of public keys that OpenSSH accepts in `authorized_keys`. */
const TYPES =
  /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)$/;
const MAX_LENGTH = 8_192;
const LENGTH_BYTES = 4;

/** A public key without options and comment, or what is wrong with the text. */
export type PublicKey =
  { readonly key: string; readonly problem?: undefined } | { readonly key?: undefined; readonly problem: string };

/**
 * Reads one line of `authorized_keys` without options: type, data, and perhaps a comment, which is dropped. The type inside of
 * the data must be the one before it, so that nothing else can be put there.
 * @returns `key`: `<type> <base64>`; `problem`: a clause for people
 */
export function readPublicKey(line: string): PublicKey {
  if (line.length > MAX_LENGTH) return { problem: `it is longer than ${MAX_LENGTH} characters` };
  if (/[^\x20-\x7e]/.test(line)) {
    return { problem: 'it has control characters or others than ASCII, e.g. more than one line' };
  }
  const [type = '', data = ''] = line.split(' ');
  if (!TYPES.test(type)) {
    return { problem: 'it does not begin with a type such as ssh-ed25519; options are not allowed' };
  }
  const bytes = Buffer.from(data, 'base64');
  if (data === '' || bytes.toString('base64') !== data) return { problem: 'its second word is no base64' };
  const fields = fieldsOf(bytes);
  if (fields?.[0]?.toString('latin1') !== type || fields.length < 2) {
    return { problem: `its data is no key of type ${type}` };
  }
  return { key: `${type} ${data}` };
}

/** The fields of a key: each is its length in four bytes, then its value. @returns `undefined`: they do not fill the data */
function fieldsOf(bytes: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    if (offset + LENGTH_BYTES > bytes.length) return undefined;
    const start = offset + LENGTH_BYTES;
    offset = start + bytes.readUInt32BE(offset);
    if (offset > bytes.length) return undefined;
    fields.push(bytes.subarray(start, offset));
  }
  return fields;
}
