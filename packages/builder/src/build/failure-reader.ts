/** Where and why a run of the build tool failed. */
export interface FailureTrace {
  /** The script that ran: `element debian, install.d/10-packages`; `undefined`: none. */
  readonly script: string | undefined;
  /** What it printed; `undefined`: nothing. */
  readonly said: string | undefined;
}

/** Before each line; the element package-installs marks the lines of the package manager. */
const PREFIX = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \| (?:> )?/;
const COPY = /^Copying hooks .*\/(?<element>[^/]+)\/(?<script>[^/]+\.d\/[^/]+)$/;
const BEGIN = /^dib-run-parts Running .*\/(?<script>[^/]+\.d\/[^/]+)$/;
const END = /^dib-run-parts \S+ completed$/;
/** The tool cleans up after a failure, and prints each of its steps. */
const TRAP = /^\++ .*\btrap_cleanup$/;
const COMMAND = /^\++ (?!\/\S*\/diskimage_builder\/lib\/)(?<command>.*)$/;
/** A command that sets up devices, its output, and that it failed: the tool prints them in its own log lines. */
const CALL = /^INFO diskimage_builder\S* \[-\] Calling \[(?:sudo )?(?<call>.*)\]$/;
const CALL_OUTPUT = /^DEBUG diskimage_builder\S* \[-\] exec_sudo: (?<output>.*?)(?: exec_sudo \/\S+)?$/;
const CALL_FAILED = /Exception: exec_sudo failed$/;
const NOISE =
  /^(?:\++ |dib-run-parts |[A-Z]+ diskimage_builder|Running hooks from |Exit code: |Traceback | {2}File | {4})|^\s*[\^~]*$/;
/** Lines by which programs name an error that ends them: apt, dpkg, git, curl, pip, the kernel. */
const ERROR =
  /^(?:E|W: GPG error|fatal|error|ERROR|dpkg|dpkg-\w+|debootstrap|curl|wget)(?::| \()|^\S*(?:Error|Exception): |No space left on device|Read-only file system|Could not resolve host|[Tt]emporary failure resolving/;
/** Only this close to the end a line can be the cause: scripts go on after errors that they expect. */
const NEAR = 20;
const MOST_ERRORS = 2;
const MOST_CHARACTERS = 300;

/** Reads the output of the build tool, and remembers what it printed before it failed. */
export class FailureReader {
  readonly #elements = new Map<string, string>();
  #script: string | undefined;
  #output: string[] = [];
  #command: string | undefined;
  #call: { readonly command: string; readonly output: string[] } | undefined;
  #hasCallFailed = false;
  #hasFailed = false;

  /** One line, without secrets. */
  read(text: string): void {
    if (this.#hasFailed) return;
    const line = text.replace(PREFIX, '').trimEnd().slice(0, MOST_CHARACTERS);
    if (TRAP.test(line)) {
      this.#hasFailed = true;
      return;
    }
    const { element, script = '' } = COPY.exec(line)?.groups ?? {};
    if (element !== undefined) this.#elements.set(script, element);
    const started = BEGIN.exec(line)?.groups?.['script'];
    if (started !== undefined || END.test(line)) this.#enter(started);
    this.#followCall(line);
    this.#command = COMMAND.exec(line)?.groups?.['command'] ?? this.#command;
    if (!NOISE.test(line) && !CALL_FAILED.test(line) && element === undefined) this.#print(line.trim());
  }

  /** What is known after the last line. */
  get trace(): FailureTrace {
    const errors = this.#output.filter((line) => ERROR.test(line));
    const last = errors.length > 0 ? [...new Set(errors)].slice(-MOST_ERRORS).join('; ') : this.#output.at(-1);
    const command = this.#command === undefined ? undefined : `nothing; its last command was ${this.#command}`;
    return { script: this.#describe(), said: last ?? command };
  }

  #print(line: string): void {
    this.#output.push(line);
    if (this.#output.length > NEAR) this.#output.shift();
  }

  /** The first failure is the cause: the tool raises it again after it has undone the calls before. */
  #followCall(line: string): void {
    const command = CALL.exec(line)?.groups?.['call'];
    if (command !== undefined) this.#call = { command, output: [] };
    const output = CALL_OUTPUT.exec(line)?.groups?.['output'];
    if (output !== undefined) this.#call?.output.push(output);
    if (!this.#call || this.#hasCallFailed || !CALL_FAILED.test(line)) return;
    this.#hasCallFailed = true;
    this.#print(`error: ${this.#call.command}: ${this.#call.output.slice(0, MOST_ERRORS).join('; ')}`);
  }

  #enter(script: string | undefined): void {
    this.#script = script;
    this.#output = [];
    this.#command = undefined;
  }

  #describe(): string | undefined {
    if (this.#script === undefined) return undefined;
    const element = this.#elements.get(this.#script);
    return element === undefined ? this.#script : `element ${element}, ${this.#script}`;
  }
}
