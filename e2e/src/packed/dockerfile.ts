/** One instruction of a Dockerfile. */
export interface Instruction {
  readonly name: string;
  /** What follows the name, on one line. */
  readonly text: string;
}

/** What an image is made of and how a container of it runs. */
export interface ImageRecipe {
  readonly from: string;
  /** Defaults of build arguments. */
  readonly args: Readonly<Record<string, string>>;
  readonly runs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly volumes: readonly string[];
  readonly ports: readonly number[];
  readonly stopSignal: NodeJS.Signals;
  readonly healthcheck: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** The `docker run` that the comments recommend. */
  readonly usage: readonly string[];
}

/** Instructions in their order; a backslash at the end of a line continues it. */
export function instructionsOf(text: string): Instruction[] {
  return text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
      if (line.trim() === '') return [];
      if (name === '') throw new Error(`no instruction of a Dockerfile: ${line}`);
      return [{ name, text: rest }];
    });
}

const KNOWN = /^(FROM|ARG|RUN|ENV|USER|VOLUME|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD)$/;

/** Reads a Dockerfile. @throws for an instruction that would not be tried */
export function readDockerfile(text: string): ImageRecipe {
  const instructions = instructionsOf(text);
  const unknown = instructions.find(({ name }) => !KNOWN.test(name));
  if (unknown) throw new Error(`teach ${import.meta.url} what ${unknown.name} does`);
  const all = (name: string) => instructions.filter((each) => each.name === name).map((each) => each.text);
  const last = (name: string) => all(name).at(-1) ?? '';
  return {
    ...{ from: last('FROM'), runs: all('RUN'), user: last('USER'), volumes: all('VOLUME') },
    args: Object.fromEntries(all('ARG').flatMap(assignments)),
    env: Object.fromEntries(all('ENV').flatMap(assignments)),
    ports: all('EXPOSE').map(Number),
    stopSignal: last('STOPSIGNAL') as NodeJS.Signals,
    healthcheck: words(last('HEALTHCHECK').replace(/^.*CMD /, '')),
    ...{ entrypoint: words(last('ENTRYPOINT')), command: words(last('CMD')) },
    usage: /^# .*(docker run .*)$/m.exec(text)?.[1]?.split(/\s+/) ?? [],
  };
}

function assignments(text: string): [string, string][] {
  return [...text.matchAll(/(\w+)=("([^"]*)"|\S*)/g)].map(([, name = '', plain = '', quoted]) => [
    name,
    quoted ?? plain,
  ]);
}

function words(json: string): string[] {
  return JSON.parse(json) as string[];
}
