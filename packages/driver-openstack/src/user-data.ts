import { ConfigError } from '@nodepool/core';

/** What Nova takes, encoded in base64. */
const MOST_ENCODED = 65_535;

/** What is wrong with user data; `undefined`: nothing. */
export function problemOfUserData(userData: string | undefined): string | undefined {
  const bytes = Buffer.byteLength(userData ?? '');
  const encoded = Math.ceil(bytes / 3) * 4;
  if (encoded <= MOST_ENCODED) return undefined;
  return (
    `userdata has ${bytes} bytes, ${encoded} in base64, and Nova takes ${MOST_ENCODED} (49149 before the encoding): ` +
    'have it fetch what is large'
  );
}

/** @throws {ConfigError} Nova refuses user data of this size */
export function checkUserData({ name, userData }: { name: string; userData: string | undefined }): void {
  const problem = problemOfUserData(userData);
  if (problem === undefined) return;
  const details = { reason: 'UserDataTooLong', nextStep: 'shorten "userdata" of the label' };
  throw new ConfigError(`label "${name}": ${problem}`, [], details);
}
