/** Hook directories of the build tool in their order; each is a phase of a build. */
const HOOK = /dib-run-parts .*\/hooks\/(?<phase>[a-z-]+)\.d\b/;
const CONVERTING = /\b(?:qemu-img convert|Converting image)\b/;

/** What a line of the build tool's output says about where the build is; `undefined`: nothing. */
export function phaseOf(line: string): string | undefined {
  const hook = HOOK.exec(line)?.groups?.['phase'];
  if (hook !== undefined) return hook;
  return CONVERTING.test(line) ? 'convert' : undefined;
}
