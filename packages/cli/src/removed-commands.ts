/** What to use in place of each command that earlier versions had. */
const REPLACEMENTS: ReadonlyMap<string, string> = new Map([
  ['top', 'use the status page of a launcher, or nodepool list --watch'],
  [
    'logs',
    'use journalctl --unit nodepool-launcher --grep ID, or grep ID /var/log/nodepool/nodepool.log; for a build nodepool image-log',
  ],
  [
    'image-diff',
    'on the builder, run diff on IMAGE-ID.d/dib-manifests/dib-manifest-dpkg-* of two builds, beside the image files',
  ],
]);

/** Error text for a command that was removed. @returns `undefined` for any other name */
export function removedCommandText(name: string): string | undefined {
  const replacement = REPLACEMENTS.get(name);
  return replacement === undefined ? undefined : `${name} was removed: ${replacement}`;
}
