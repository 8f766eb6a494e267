const BEGIN = '-----BEGIN SSH HOST KEY KEYS-----';
const END = '-----END SSH HOST KEY KEYS-----';
const KEY = /\b((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})/;

/**
 * The host keys that cloud-init prints on the console, as `<type> <base64>`.
 * @returns `undefined` until all of them are printed
 */
export function hostKeysIn(console: string): readonly string[] | undefined {
  const begin = console.lastIndexOf(BEGIN);
  const end = console.indexOf(END, begin);
  if (begin < 0 || end < 0) return undefined;
  const keys = console
    .slice(begin + BEGIN.length, end)
    .split(/\r?\n/)
    .flatMap((line) => {
      const match = KEY.exec(line);
      return match ? [`${match[1]} ${match[2]}`] : [];
    });
  return keys.length > 0 ? [...new Set(keys)] : undefined;
}
