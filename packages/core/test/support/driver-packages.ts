/** A driver package written by a test. */
export interface Package {
  driver?: string;
  apiVersion?: number;
  exports?: unknown;
  code?: string;
}

/** Source of a driver that counts its resets. */
export const codeOf = (name: string) =>
  `export const driver = { name: '${name}', apiVersion: 1, capabilities: {}, schema: {},
    getProviderConfig() {}, getProvider() {}, resets: 0, reset() { this.resets++; } };`;

/** Files of the package `name` in `folder`. */
export function packageFiles(
  folder: string,
  name: string,
  { driver = 'x', apiVersion = 1, exports, code }: Package = {},
) {
  const manifest = {
    name,
    version: '1.2.3',
    type: 'module',
    exports: exports ?? './main.js',
    nodepool: { driver, apiVersion },
  };
  return {
    [`${folder}/${name}/package.json`]: JSON.stringify(manifest),
    [`${folder}/${name}/main.js`]: code ?? codeOf(driver),
  };
}
