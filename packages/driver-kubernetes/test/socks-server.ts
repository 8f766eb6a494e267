import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const VERSION = 5;
const NO_LOGIN = 0;
const PASSWORD = 2;
const REFUSED = 255;
const IPV4 = 1;
const NAME = 3;

/** What a SOCKS5 server does. */
export interface SocksServerOptions {
  /** The server on 127.0.0.1 that stands for every destination. */
  readonly port: number;
  /** `USER:PASSWORD`; default: it wants none. */
  readonly login?: string;
  /** The reply to CONNECT (RFC 1928, 6). Default 0: succeeded. */
  readonly reply?: number;
}

/** A SOCKS5 server (RFC 1928, 1929) on 127.0.0.1. */
export interface SocksServer {
  readonly port: number;
  /** Destinations that were asked for: `name NAME PORT`, `ipv4 HEX PORT` or `ipv6 HEX PORT`. */
  readonly asked: string[];
  stop(): Promise<void>;
}

type Read = (bytes: number) => Promise<Buffer>;

/** Starts a server. */
export async function startSocksServer(options: SocksServerOptions): Promise<SocksServer> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    serve(socket, options, asked).catch(() => socket.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(socket: Socket, { port, login, reply = 0 }: SocksServerOptions, asked: string[]): Promise<void> {
  const read = reader(socket);
  if (!(await logIn(socket, read, login))) return;
  asked.push(await destination(read));
  const answer = Buffer.from([VERSION, reply, 0, IPV4, 0, 0, 0, 0, 0, 0]);
  if (reply !== 0) return void socket.end(answer);
  const target = connect(port, '127.0.0.1').on('error', () => socket.destroy());
  await once(target, 'connect');
  socket.write(answer);
  socket.pipe(target).pipe(socket);
  socket.on('close', () => target.destroy());
}

async function logIn(socket: Socket, read: Read, login: string | undefined): Promise<boolean> {
  const wanted = login === undefined ? NO_LOGIN : PASSWORD;
  const [, methods = 0] = await read(2);
  const method = (await read(methods)).includes(wanted) ? wanted : REFUSED;
  socket.write(Buffer.from([VERSION, method]));
  if (method === NO_LOGIN) return true;
  if (method === REFUSED) {
    socket.end();
    return false;
  }
  const [, userBytes = 0] = await read(2);
  const user = await read(userBytes);
  const [passwordBytes = 0] = await read(1);
  const isRight = `${user.toString()}:${(await read(passwordBytes)).toString()}` === login;
  socket.write(Buffer.from([1, isRight ? 0 : 1]));
  if (!isRight) socket.end();
  return isRight;
}

async function destination(read: Read): Promise<string> {
  const type = (await read(4))[3];
  const [nameBytes = 0] = type === NAME ? await read(1) : [];
  const address = await read(type === NAME ? nameBytes : type === IPV4 ? 4 : 16);
  const port = (await read(2)).readUInt16BE();
  if (type === NAME) return `name ${address.toString()} ${port}`;
  return `${type === IPV4 ? 'ipv4' : 'ipv6'} ${address.toString('hex')} ${port}`;
}

/** Reads exactly so many bytes, and leaves the rest. */
function reader(socket: Socket): Read {
  return async (bytes) => {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const part = socket.read(bytes) as Buffer | null;
      if (part !== null) return part;
      if (socket.destroyed || socket.readableEnded) throw new Error('the client is gone');
      await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
    }
  };
}
