import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createMessageConnection, type MessageConnection } from 'vscode-jsonrpc/node';

/** A finding of the server, as an editor shows it. */
export interface Diagnostic {
  readonly message: string;
  /** Counted from 0. */
  readonly line: number;
}

interface Published {
  uri: string;
  diagnostics: { message: string; range: { start: { line: number } } }[];
}

/** Where the cursor is: `|` in a text. */
const CURSOR = '|';

/** The YAML language server that editors run, with a schema for `nodepool.yaml`. */
export class YamlLanguageServer {
  readonly #child: ChildProcess;
  readonly #connection: MessageConnection;
  #opened = 0;
  #onPublished: (published: Published) => void = () => {};

  private constructor(child: ChildProcess, connection: MessageConnection, schemaUri: string) {
    this.#child = child;
    this.#connection = connection;
    const yaml = {
      schemas: { [schemaUri]: 'nodepool.yaml' },
      schemaStore: { enable: false },
      validate: true,
      completion: true,
      hover: true,
    };
    connection.onRequest('workspace/configuration', ({ items }: { items: { section: string }[] }) =>
      items.map(({ section }) => (section === 'yaml' ? yaml : {})),
    );
    connection.onNotification('textDocument/publishDiagnostics', (published: Published) => {
      this.#onPublished(published);
    });
  }

  /** Starts it as editors do. @param schemaUri - of the schema's file */
  static async start(schemaUri: string): Promise<YamlLanguageServer> {
    const manifest = createRequire(import.meta.url).resolve('yaml-language-server/package.json');
    const program = join(dirname(manifest), 'bin', 'yaml-language-server');
    const child = spawn(process.execPath, [program, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const connection = createMessageConnection(child.stdout, child.stdin);
    const server = new YamlLanguageServer(child, connection, schemaUri);
    connection.listen();
    const capabilities = {
      workspace: { configuration: true },
      textDocument: { completion: { completionItem: { documentationFormat: ['plaintext'] } } },
    };
    await connection.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities });
    await connection.sendNotification('initialized', {});
    await connection.sendNotification('workspace/didChangeConfiguration', { settings: null });
    return server;
  }

  /** What it says about a text. */
  async check(text: string): Promise<Diagnostic[]> {
    const uri = this.#nextUri();
    const published = new Promise<Published>((resolve) => {
      this.#onPublished = (found) => {
        if (found.uri === uri) resolve(found);
      };
    });
    await this.#open(uri, text);
    const { diagnostics } = await published;
    return diagnostics.map(({ message, range }) => ({ message, line: range.start.line }));
  }

  /** What it offers at the cursor, which is a `|` in the text. */
  async complete(text: string): Promise<string[]> {
    const params = await this.#openAtCursor(text);
    const found: { items: { label: string }[] } = await this.#connection.sendRequest('textDocument/completion', params);
    return found.items.map(({ label }) => label);
  }

  /** What it shows for what is under the cursor. */
  async hover(text: string): Promise<string> {
    const params = await this.#openAtCursor(text);
    const found: { contents: string | { value: string } } | null = await this.#connection.sendRequest(
      'textDocument/hover',
      params,
    );
    const contents = found?.contents ?? '';
    return typeof contents === 'string' ? contents : contents.value;
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    await this.#connection.sendRequest('shutdown');
    await this.#connection.sendNotification('exit');
    await ended;
    this.#connection.dispose();
  }

  async #openAtCursor(text: string) {
    const uri = this.#nextUri();
    const before = text.slice(0, text.indexOf(CURSOR)).split('\n');
    await this.#open(uri, text.replace(CURSOR, ''));
    return { textDocument: { uri }, position: { line: before.length - 1, character: before.at(-1)?.length ?? 0 } };
  }

  /** Each text is a file of its own, so that no answer about another one is taken for its own. */
  #nextUri(): string {
    this.#opened += 1;
    return `file:///${this.#opened}/nodepool.yaml`;
  }

  async #open(uri: string, text: string): Promise<void> {
    const textDocument = { uri, languageId: 'yaml', version: 1, text };
    await this.#connection.sendNotification('textDocument/didOpen', { textDocument });
  }
}
