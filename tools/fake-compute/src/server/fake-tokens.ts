import { createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const SCOPE = 'https://www.googleapis.com/auth/compute';
const JWT_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Issues access tokens: like OAuth and STS for credential files, and like the metadata server. */
export class FakeTokens {
  /** Issued tokens, newest last. */
  readonly issued: string[] = [];
  /** Lifetime of a token. */
  lifeS = 3_600;
  readonly #accepted: Set<string>;
  readonly #server: Server;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  private constructor(accepted: Set<string>) {
    this.#accepted = accepted;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    this.#privateKey = privateKey;
    this.#publicKey = publicKey;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy()); // the client disconnected
    });
  }

  /** Starts it on a free port. @param accepted - receives new tokens, so that the API accepts them */
  static async start(accepted: Set<string>): Promise<FakeTokens> {
    const tokens = new FakeTokens(accepted);
    await new Promise<void>((resolve) => tokens.#server.listen(0, '127.0.0.1', resolve));
    return tokens;
  }

  /** `host:port` for the environment variable of the metadata server. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Content of a key file for a service account that gets its tokens here. */
  get serviceAccount(): object {
    return {
      type: 'service_account',
      project_id: 'test-project',
      private_key_id: 'k1',
      private_key: this.#privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: 'nodepool@test-project.iam.gserviceaccount.com',
      client_id: '1',
      token_uri: `http://${this.host}/token`,
    };
  }

  /** Content of a file for workload identity federation. @param subjectFile - file with the token of the other identity provider */
  externalAccount(subjectFile: string): object {
    return {
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/p',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://${this.host}/sts`,
      credential_source: { file: subjectFile },
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://fake');
    const form = new URLSearchParams(await text(request));
    const refusal = this.#refusalOf(pathname, request, form);
    response.setHeader('metadata-flavor', 'Google');
    response.setHeader('content-type', 'application/json');
    response.statusCode = refusal === undefined ? 200 : 400;
    response.end(
      JSON.stringify(refusal === undefined ? this.#issue() : { error: 'invalid_grant', error_description: refusal }),
    );
  }

  #refusalOf(path: string, { headers }: IncomingMessage, form: URLSearchParams): string | undefined {
    if (path === '/token') return form.get('grant_type') === JWT_GRANT ? this.#checkStatement(form) : 'wrong grant';
    if (path === '/sts') {
      const isGood = form.get('grant_type') === EXCHANGE_GRANT && form.get('subject_token') === 'subject';
      return isGood ? undefined : 'wrong subject';
    }
    if (!path.startsWith('/computeMetadata/v1/instance')) return `no resource at ${path}`;
    return headers['metadata-flavor'] === 'Google' ? undefined : 'no header Metadata-Flavor';
  }

  /** https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests */
  #checkStatement(form: URLSearchParams): string | undefined {
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const isSigned = createVerify('RSA-SHA256')
      .update(`${header}.${claims}`)
      .verify(this.#publicKey, signature, 'base64url');
    if (!isSigned) return 'wrong signature';
    const { aud, scope, iss, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<
      string,
      unknown
    >;
    if (aud !== `http://${this.host}/token`) return `wrong audience ${String(aud)}`;
    if (scope !== SCOPE) return `wrong scope ${String(scope)}`;
    if (typeof iss !== 'string' || !iss.includes('@')) return 'no issuer';
    return Number(exp) - Number(iat) <= 3_600 ? undefined : 'the lifetime exceeds one hour';
  }

  #issue(): object {
    const token = `ya29.${this.issued.length + 1}`;
    this.issued.push(token);
    this.#accepted.add(token);
    return {
      access_token: token,
      expires_in: this.lifeS,
      token_type: 'Bearer',
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    };
  }
}
